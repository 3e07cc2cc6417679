//! Lists containers that the kubelet runs through containerd. Read only.
//!
//! containerd's CRI plugin has them in its own namespace, two kinds for each pod:
//!
//! ```text
//! io.cri-containerd.kind   io.kubernetes.pod.{namespace,name,uid}   also
//! sandbox                  yes                                      the pod's own labels
//! container                yes                                      io.kubernetes.container.name
//! ```
//!
//! A container also has the labels of its image, which anybody can set, so only the labels of the
//! sandbox are trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;

use super::api::containers::{Container as ApiContainer, ListContainersRequest};
use super::api::tasks::GetRequest;
use super::call_error::CallResult;
use super::listing;
use super::session::{self, Session};
use crate::container::{Container, ContainerId};
use crate::driver::DriverError;
use crate::ownership::Ownership;
use crate::record::Record;

const NAMESPACE: &str = "k8s.io";
const KIND: &str = "io.cri-containerd.kind";
const POD_UID: &str = "io.kubernetes.pod.uid";
const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
const POD_NAME: &str = "io.kubernetes.pod.name";
const CONTAINER_NAME: &str = "io.kubernetes.container.name";
/// The CRI plugin stores the image of the pod's specification in this annotation.
const IMAGE_NAME: &str = "io.kubernetes.cri.image-name";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodName {
    pub namespace: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodContainer {
    /// With the name that it has in the pod, and without a record.
    pub container: Container,
    pub pod: PodName,
    /// Of the pod.
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug)]
pub struct PodContainerQuery<'a> {
    /// The name that it has in the pod.
    pub container: &'a str,
    /// A label of the pod.
    pub label: (&'a str, &'a str),
}

/// The kubelet's containers with this name in pods with this label, running or not.
///
/// # Errors
/// When containerd does not respond.
pub async fn pod_containers(
    socket: &Path,
    query: PodContainerQuery<'_>,
) -> Result<Vec<PodContainer>, DriverError> {
    let (channel, _) = session::connect(socket).await?;
    let attempt = "list the kubelet's containers".to_owned();
    let session = Session::new(channel, NAMESPACE, attempt);
    let mut containers = session.containers();
    // Filtered by containerd: a node has hundreds of containers, each with its whole specification.
    let filters = query.filters();
    let listed = session
        .call(containers.list(ListContainersRequest { filters }))
        .await?;
    let mut found = Vec::new();
    for (container, pod, labels) in join(listed.containers, query) {
        let container_id = container.id.clone();
        let mut tasks = session.tasks();
        let task = session.call(tasks.get(GetRequest { container_id })).await;
        let task = task.if_found()?.and_then(|answer| answer.process);
        let state = listing::state(task, |pid| listing::started(Path::new("/proc"), pid));
        let container = Container {
            name: query.container.to_owned(),
            // sked's, and so never schedctl's to change.
            ownership: Ownership::Unproven,
            record: Record::default(),
            image: image(&container),
            image_id: None,
            state,
            id: ContainerId::new(container.id),
        };
        found.push(PodContainer {
            container,
            pod,
            labels,
        });
    }
    Ok(found)
}

impl PodContainerQuery<'_> {
    /// Matches both kinds of containers; [`join`] combines them.
    fn filters(self) -> Vec<String> {
        let (key, value) = self.label;
        let name = self.container;
        vec![
            format!("labels.{CONTAINER_NAME:?}=={name:?}"),
            format!("labels.{key:?}=={value:?}"),
        ]
    }
}

/// Containers with the name and labels of their pod; those without a sandbox are left out.
fn join(
    all: Vec<ApiContainer>,
    query: PodContainerQuery<'_>,
) -> Vec<(ApiContainer, PodName, BTreeMap<String, String>)> {
    let (key, value) = query.label;
    let has_label = |one: &ApiContainer, key: &str, value: &str| {
        one.labels.get(key).is_some_and(|found| found == value)
    };
    let (sandboxes, containers): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|one| has_label(one, KIND, "sandbox"));
    let wanted = containers.into_iter().filter(|one| {
        has_label(one, KIND, "container") && has_label(one, CONTAINER_NAME, query.container)
    });
    wanted
        .filter_map(|one| {
            let uid = one.labels.get(POD_UID)?;
            let sandbox = sandboxes.iter().find(|sandbox| {
                has_label(sandbox, POD_UID, uid) && has_label(sandbox, key, value)
            })?;
            let text = |key: &str| sandbox.labels.get(key).cloned();
            let pod = PodName {
                namespace: text(POD_NAMESPACE)?,
                name: text(POD_NAME)?,
            };
            let labels = sandbox.labels.clone().into_iter().collect();
            Some((one, pod, labels))
        })
        .collect()
}

/// The image of the pod's specification, else containerd's name of it; a name is preferred to a bare
/// digest.
fn image(container: &ApiContainer) -> String {
    #[derive(Deserialize)]
    struct SpecAnnotations {
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    let spec = container.spec.as_ref().map(|spec| spec.value.as_slice());
    let parsed = spec.and_then(|bytes| serde_json::from_slice::<SpecAnnotations>(bytes).ok());
    let requested = parsed.and_then(|mut parsed| parsed.annotations.remove(IMAGE_NAME));
    let name = container.image.clone();
    match requested {
        Some(requested) if !requested.starts_with("sha256:") || name.is_empty() => requested,
        _ => name,
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name } = self;
        write!(f, "{namespace}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: PodContainerQuery<'_> = PodContainerQuery {
        container: "scx",
        label: ("managed-by", "somebody"),
    };

    fn one(id: &str, labels: &[(&str, &str)]) -> ApiContainer {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        ApiContainer {
            id: id.to_owned(),
            labels: labels.iter().map(owned).collect(),
            ..ApiContainer::default()
        }
    }

    fn sandbox(uid: &str, more: (&str, &str)) -> ApiContainer {
        let labels = [
            (KIND, "sandbox"),
            (POD_UID, uid),
            (POD_NAMESPACE, "team"),
            (POD_NAME, "lab-x7"),
            more,
        ];
        one(&format!("sandbox-{uid}"), &labels)
    }

    fn container(uid: &str, name: &str) -> ApiContainer {
        let labels = [
            (KIND, "container"),
            (POD_UID, uid),
            (CONTAINER_NAME, name),
            // Labels of the image.
            ("managed-by", "somebody"),
            (POD_NAME, "forged"),
        ];
        one(&format!("container-{uid}"), &labels)
    }

    #[test]
    fn a_container_belongs_to_the_pod_of_its_sandbox() {
        let ours = ("managed-by", "somebody");
        let all = vec![
            sandbox("1", ours),
            container("1", "scx"),
            sandbox("2", ours),
            container("2", "helper"),
            sandbox("3", ("managed-by", "else")),
            container("3", "scx"),
            container("4", "scx"),
        ];
        let found = join(all, QUERY);
        assert_eq!(found.len(), 1, "{found:?}");
        let (container, pod, labels) = &found[0];
        assert_eq!(container.id, "container-1");
        assert_eq!(pod.to_string(), "team/lab-x7");
        assert_eq!(labels["managed-by"], "somebody");
    }

    #[test]
    fn the_image_of_the_pod_is_preferred() {
        let mut container = one("a", &[]);
        container.image = "sha256:abc".to_owned();
        assert_eq!(image(&container), "sha256:abc");
        let mut spec = |json: &str| {
            container.spec = Some(prost_types::Any {
                type_url: String::new(),
                value: json.as_bytes().to_vec(),
            });
            image(&container)
        };
        let annotated = format!(r#"{{"annotations": {{"{IMAGE_NAME}": "a.example/scx_lab:1"}}}}"#);
        assert_eq!(spec(&annotated), "a.example/scx_lab:1");
        let digest = annotated.replace("a.example/scx_lab:1", "sha256:def");
        assert_eq!(spec(&digest), "sha256:abc");
        for malformed in ["", "[]", r#"{"annotations": 7}"#, "{}"] {
            assert_eq!(spec(malformed), "sha256:abc");
        }
    }

    #[test]
    fn the_filter_matches_both_kinds() {
        assert_eq!(
            QUERY.filters(),
            [
                r#"labels."io.kubernetes.container.name"=="scx""#,
                r#"labels."managed-by"=="somebody""#
            ]
        );
    }
}
