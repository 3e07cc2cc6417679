//! The schedulers that sked, the operator, runs on this machine if it is a Kubernetes node. They are
//! found through containerd whichever driver is chosen, because that is where a kubelet has its
//! containers. `status` shows them; `run`, `switch` and `stop` refuse to interfere. schedctl never
//! changes or stops one.

use std::time::Duration;

use schedkit_core::sanitize::brief;
use schedkit_host::{Fact, HostRoot, KernelSchedExt, struct_ops};
use schedkit_runtime::DriverError;
use schedkit_runtime::containerd::{PodContainer, PodContainerQuery, PodName, pod_containers};
use schedkit_runtime::driver::Runtime;
use tokio::time::timeout;

use crate::container::RuntimeContainer;
use crate::inventory::is_not_installed;
use crate::runtimes::Runtimes;

/// Container name and label of sked's pods; also those of the older sked.
const SOUGHT: PodContainerQuery<'_> = PodContainerQuery {
    container: "scx",
    label: ("managed-by", "sked-controller"),
};
/// Label with the name of the DaemonSet.
const DAEMONSET_LABEL: &str = "name";
/// A shorter prefix of an id is probably a typing error.
const MIN_ID_PREFIX: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkedPod {
    pub(crate) container: RuntimeContainer,
    pub(crate) pod: PodName,
    /// The SchedExt's name, or SCHEDEXT-POOL. The two cannot be told apart here.
    pub(crate) daemonset: Option<String>,
    /// Whether its process holds a struct_ops link; absent if that was not read.
    pub(crate) holds_scheduler: Fact<bool>,
}

/// All of sked's running containers; none if containerd is not installed.
pub(crate) async fn list(
    runtimes: &Runtimes,
    limit: Duration,
) -> Result<Vec<SkedPod>, DriverError> {
    let socket = &runtimes.endpoint(Runtime::Containerd).socket;
    let found = match timeout(limit, pod_containers(socket, SOUGHT)).await {
        Ok(Err(error)) if is_not_installed(&error) => return Ok(Vec::new()),
        Ok(answer) => answer?,
        Err(_) => {
            return Err(DriverError::Timeout {
                runtime: Runtime::Containerd,
                attempt: "list the kubelet's containers".to_owned(),
                seconds: limit.as_secs(),
            });
        }
    };
    let pods = found.into_iter().map(SkedPod::from);
    Ok(pods.filter(|pod| pod.container.is_live()).collect())
}

/// Reads which of their processes hold a scheduler, if one is attached.
pub(crate) fn read_links(pods: &mut [SkedPod], kernel: &Fact<KernelSchedExt>, root: &HostRoot) {
    let attached = kernel.known().and_then(KernelSchedExt::attached).is_some();
    for pod in pods.iter_mut().filter(|_| attached) {
        let pid = pod.container.container.pid();
        pod.holds_scheduler = pid.map_or(Fact::Absent, |pid| struct_ops::holds(root, pid));
    }
}

impl From<PodContainer> for SkedPod {
    fn from(found: PodContainer) -> Self {
        let PodContainer {
            container,
            pod,
            labels,
        } = found;
        Self {
            container: RuntimeContainer {
                runtime: Runtime::Containerd,
                container,
            },
            pod,
            daemonset: labels.get(DAEMONSET_LABEL).cloned(),
            holds_scheduler: Fact::Absent,
        }
    }
}

impl SkedPod {
    /// Whether a name on the command line may refer to it.
    pub(crate) fn matches(&self, target: &str) -> bool {
        let PodName { namespace, name } = &self.pod;
        let id = self.container.container.id.as_str();
        let daemonset = self.daemonset.as_deref();
        let full = daemonset.map(|daemonset| format!("{namespace}/{daemonset}"));
        name == target
            || self.pod.to_string() == target
            || daemonset == Some(target)
            || full.as_deref() == Some(target)
            || self.container.scheduler() == target
            || id == target
            || (target.len() >= MIN_ID_PREFIX && id.starts_with(target))
    }

    /// `pod team/lab-x7, DaemonSet team/lab`.
    pub(crate) fn location(&self) -> String {
        let pod = brief(&self.pod.to_string());
        match &self.daemonset {
            Some(daemonset) => {
                let daemonset = format!("{}/{daemonset}", self.pod.namespace);
                format!("pod {pod}, DaemonSet {}", brief(&daemonset))
            }
            None => format!("pod {pod}"),
        }
    }

    /// The kubectl command that changes it.
    pub(crate) fn remedy(&self) -> String {
        let namespace = brief(&self.pod.namespace);
        match &self.daemonset {
            Some(daemonset) => format!(
                "`kubectl -n {namespace} edit schedext {}` (if the SchedExt has pools, this name is \
                 SCHEDEXT-POOL)",
                brief(daemonset)
            ),
            None => format!("`kubectl -n {namespace} get schedext`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::sked_pod;
    use crate::runtimes::Endpoint;

    #[test]
    fn it_matches_each_of_its_names() {
        let pod = sked_pod("scx_lab");
        for target in [
            "lab-x7",
            "team/lab-x7",
            "lab",
            "team/lab",
            "scx_lab",
            "feed",
            pod.container.container.id.as_str(),
        ] {
            assert!(pod.matches(target), "{target}");
        }
        for target in ["", "fee", "x7", "other/lab", "scx"] {
            assert!(!pod.matches(target), "{target}");
        }
    }

    #[test]
    fn the_daemonset_is_named_only_if_known() {
        let mut pod = sked_pod("scx_lab");
        assert_eq!(pod.location(), "pod team/lab-x7, DaemonSet team/lab");
        assert!(pod.remedy().contains("`kubectl -n team edit schedext lab`"));
        pod.daemonset = None;
        assert_eq!(pod.location(), "pod team/lab-x7");
        assert_eq!(pod.remedy(), "`kubectl -n team get schedext`");
    }

    #[tokio::test]
    async fn without_containerd_the_list_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("none.sock");
        let runtimes = Runtimes::new(Endpoint {
            runtime: Runtime::Containerd,
            socket,
        });
        let pods = list(&runtimes, Duration::from_secs(60)).await;
        assert_eq!(pods.unwrap(), []);
    }
}
