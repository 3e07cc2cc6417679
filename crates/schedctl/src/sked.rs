//! The schedulers that sked, the operator, runs on this machine, where it is a node of a cluster.
//! Found through containerd whichever driver is chosen, since that is where a kubelet has its
//! containers. `status` tells of them, `run`, `switch` and `stop` keep away from them; nothing here
//! or elsewhere changes or ends one.

use std::time::Duration;

use schedkit_core::sanitize::brief;
use schedkit_host::{Fact, HostRoot, SchedExt, struct_ops};
use schedkit_runtime::DriverError;
use schedkit_runtime::containerd::{PodContainer, PodContainerQuery, PodName, pod_containers};
use schedkit_runtime::driver::Runtime;
use tokio::time::timeout;

use crate::runtimes::{Runtimes, is_not_there};
use crate::status::{Held, scheduler_of};

/// What sked's pods are known by; a contract, also of the older sked.
const SOUGHT: PodContainerQuery<'_> = PodContainerQuery {
    container: "scx",
    label: ("managed-by", "sked-controller"),
};
/// What a pod is called after: its DaemonSet.
const DAEMONSET: &str = "name";
/// Shorter beginnings of ids are too likely to be typing errors.
const SHORTEST: usize = 4;

/// A scheduler that sked runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkedPod {
    /// Its container, which is not ours.
    pub(crate) held: Held,
    pub(crate) pod: PodName,
    /// Called as the SchedExt is, or SCHEDEXT-POOL: where there is a pool, this machine cannot
    /// tell which part is which.
    pub(crate) daemonset: Option<String>,
    /// Whether its process holds a scheduler; absent where nobody looked.
    pub(crate) holds: Fact<bool>,
}

/// All that run here. Where there is no containerd, nobody is asked.
///
/// # Errors
/// When containerd is there and does not tell. That is no verdict about anything.
pub(crate) async fn look(
    runtimes: &Runtimes,
    patience: Duration,
) -> Result<Vec<SkedPod>, DriverError> {
    let socket = &runtimes.place(Runtime::Containerd).socket;
    let found = match timeout(patience, pod_containers(socket, SOUGHT)).await {
        Ok(Err(error)) if is_not_there(&error) => return Ok(Vec::new()),
        Ok(answer) => answer?,
        Err(_) => {
            return Err(DriverError::Timeout {
                runtime: Runtime::Containerd,
                attempt: "list the kubelet's containers".to_owned(),
                seconds: patience.as_secs(),
            });
        }
    };
    let pods = found.into_iter().map(SkedPod::from);
    Ok(pods.filter(|pod| pod.held.is_live()).collect())
}

/// Looks into their processes, where that can tell who has the kernel's scheduler.
pub(crate) fn examine(pods: &mut [SkedPod], kernel: &Fact<SchedExt>, root: &HostRoot) {
    let attached = kernel.known().and_then(SchedExt::attached).is_some();
    for pod in pods.iter_mut().filter(|_| attached) {
        let pid = pod.held.container.pid();
        pod.holds = pid.map_or(Fact::Absent, |pid| struct_ops::holds(root, pid));
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
            held: Held {
                runtime: Runtime::Containerd,
                container,
            },
            pod,
            daemonset: labels.get(DAEMONSET).cloned(),
            holds: Fact::Absent,
        }
    }
}

impl SkedPod {
    /// Whether somebody may mean it by this word.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        let PodName { namespace, name } = &self.pod;
        let container = &self.held.container;
        let id = container.id.as_str();
        let daemonset = self.daemonset.as_deref();
        let full = daemonset.map(|daemonset| format!("{namespace}/{daemonset}"));
        name == word
            || self.pod.to_string() == word
            || daemonset == Some(word)
            || full.as_deref() == Some(word)
            || scheduler_of(container) == word
            || id == word
            || (word.len() >= SHORTEST && id.starts_with(word))
    }

    /// `pod team/lab-x7, DaemonSet team/lab`.
    pub(crate) fn whose(&self) -> String {
        let pod = brief(&self.pod.to_string());
        match &self.daemonset {
            Some(daemonset) => {
                let daemonset = format!("{}/{daemonset}", self.pod.namespace);
                format!("pod {pod}, DaemonSet {}", brief(&daemonset))
            }
            None => format!("pod {pod}"),
        }
    }

    /// Who can change it, and how. The name of the SchedExt is said as far as it is known.
    pub(crate) fn remedy(&self) -> String {
        let namespace = brief(&self.pod.namespace);
        match &self.daemonset {
            Some(daemonset) => format!(
                "`kubectl -n {namespace} edit schedext {}` (SCHEDEXT-POOL is the name where it has \
                 pools)",
                brief(daemonset)
            ),
            None => format!("`kubectl -n {namespace} get schedext`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::sked_pod;

    #[test]
    fn it_goes_by_many_names() {
        let pod = sked_pod("scx_lab");
        for word in [
            "lab-x7",
            "team/lab-x7",
            "lab",
            "team/lab",
            "scx_lab",
            "feed",
            pod.held.container.id.as_str(),
        ] {
            assert!(pod.is_called(word), "{word}");
        }
        for word in ["", "fee", "x7", "other/lab", "scx"] {
            assert!(!pod.is_called(word), "{word}");
        }
    }

    #[test]
    fn no_more_is_said_than_is_known() {
        let mut pod = sked_pod("scx_lab");
        assert_eq!(pod.whose(), "pod team/lab-x7, DaemonSet team/lab");
        assert!(pod.remedy().contains("`kubectl -n team edit schedext lab`"));
        pod.daemonset = None;
        assert_eq!(pod.whose(), "pod team/lab-x7");
        assert_eq!(pod.remedy(), "`kubectl -n team get schedext`");
    }

    #[tokio::test]
    async fn where_there_is_no_containerd_there_is_none_and_no_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("none.sock");
        let runtimes = Runtimes::new(Runtime::Containerd, socket);
        let looked = look(&runtimes, Duration::from_secs(60)).await;
        assert_eq!(looked.unwrap(), []);
    }
}
