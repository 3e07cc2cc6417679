//! Containers that the kubelet runs through containerd. They are not ours: called to look, never
//! to change anything.
//!
//! containerd's CRI plugin keeps them in a namespace of its own, two kinds of them for each pod:
//!
//! ```text
//! io.cri-containerd.kind   io.kubernetes.pod.{namespace,name,uid}   besides
//! sandbox                  yes                                      the pod's own labels
//! container                yes                                      io.kubernetes.container.name
//! ```
//!
//! The labels of an image stand among its container's as well, so that a pod is believed by its
//! sandbox's labels only.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;

use super::api::containers::{Container as Theirs, ListContainersRequest};
use super::api::tasks::GetRequest;
use super::fault::Absence;
use super::listing;
use super::session::{self, Session};
use crate::container::{Container, ContainerId};
use crate::driver::DriverError;
use crate::record::Record;

/// Where the kubelet's are.
const NAMESPACE: &str = "k8s.io";
const KIND: &str = "io.cri-containerd.kind";
const POD_UID: &str = "io.kubernetes.pod.uid";
const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
const POD_NAME: &str = "io.kubernetes.pod.name";
const CONTAINER_NAME: &str = "io.kubernetes.container.name";
/// Where the CRI plugin notes what the pod asked for.
const IMAGE_NAME: &str = "io.kubernetes.cri.image-name";

/// A pod's namespace and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodName {
    /// The namespace.
    pub namespace: String,
    /// The name in it.
    pub name: String,
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodContainer {
    /// As for one of ours, called as the pod calls it, and without a record.
    pub container: Container,
    /// Whose it is.
    pub pod: PodName,
    /// What the pod's own labels say.
    pub labels: BTreeMap<String, String>,
}

/// Which containers are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// As the pod calls them.
    pub container: &'a str,
    /// A label of the pod.
    pub label: (&'a str, &'a str),
}

/// The kubelet's containers of this name in pods with this label, running or not.
///
/// # Errors
/// When containerd cannot be asked.
pub async fn pod_containers(
    socket: &Path,
    sought: Sought<'_>,
) -> Result<Vec<PodContainer>, DriverError> {
    let (channel, _) = session::connect(socket).await?;
    let attempt = "list the kubelet's containers".to_owned();
    let session = Session::new(channel, NAMESPACE, attempt);
    let mut containers = session.containers();
    // A node has hundreds of containers, and each brings its whole specification along.
    let filters = sought.filters();
    let listed = session
        .ask(containers.list(ListContainersRequest { filters }))
        .await?;
    let mut found = Vec::new();
    for (theirs, pod, labels) in join(listed.containers, sought) {
        let container_id = theirs.id.clone();
        let mut tasks = session.tasks();
        let task = session.ask(tasks.get(GetRequest { container_id })).await;
        let task = task.if_there()?.and_then(|answer| answer.process);
        let state = listing::state(task, |pid| listing::started(Path::new("/proc"), pid));
        let container = Container {
            name: sought.container.to_owned(),
            record: Record::default(),
            image: image(&theirs),
            image_id: None,
            state,
            id: ContainerId::new(theirs.id),
        };
        found.push(PodContainer {
            container,
            pod,
            labels,
        });
    }
    Ok(found)
}

impl Sought<'_> {
    /// Either kind of container: what fits together is found out by [`join`].
    fn filters(self) -> Vec<String> {
        let (key, value) = self.label;
        let name = self.container;
        vec![
            format!("labels.{CONTAINER_NAME:?}=={name:?}"),
            format!("labels.{key:?}=={value:?}"),
        ]
    }
}

/// Containers with their pod's name and labels; those whose sandbox is not there are left out.
fn join(all: Vec<Theirs>, sought: Sought<'_>) -> Vec<(Theirs, PodName, BTreeMap<String, String>)> {
    let (key, value) = sought.label;
    let says = |one: &Theirs, key: &str, value: &str| {
        one.labels.get(key).is_some_and(|found| found == value)
    };
    let (sandboxes, containers): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| says(one, KIND, "sandbox"));
    let wanted = containers
        .into_iter()
        .filter(|one| says(one, KIND, "container") && says(one, CONTAINER_NAME, sought.container));
    wanted
        .filter_map(|one| {
            let uid = one.labels.get(POD_UID)?;
            let sandbox = sandboxes
                .iter()
                .find(|sandbox| says(sandbox, POD_UID, uid) && says(sandbox, key, value))?;
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

/// What the pod asked for, else what containerd calls it. Either may be a bare digest, which tells
/// nobody anything: a name goes before it.
fn image(theirs: &Theirs) -> String {
    #[derive(Deserialize)]
    struct Outline {
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    let spec = theirs.spec.as_ref().map(|spec| spec.value.as_slice());
    let outline = spec.and_then(|bytes| serde_json::from_slice::<Outline>(bytes).ok());
    let asked = outline.and_then(|mut outline| outline.annotations.remove(IMAGE_NAME));
    let theirs = theirs.image.clone();
    match asked {
        Some(asked) if !asked.starts_with("sha256:") || theirs.is_empty() => asked,
        _ => theirs,
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

    const SOUGHT: Sought<'_> = Sought {
        container: "scx",
        label: ("managed-by", "somebody"),
    };

    fn one(id: &str, labels: &[(&str, &str)]) -> Theirs {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Theirs {
            id: id.to_owned(),
            labels: labels.iter().map(owned).collect(),
            ..Theirs::default()
        }
    }

    fn sandbox(uid: &str, more: (&str, &str)) -> Theirs {
        let labels = [
            (KIND, "sandbox"),
            (POD_UID, uid),
            (POD_NAMESPACE, "team"),
            (POD_NAME, "lab-x7"),
            more,
        ];
        one(&format!("sandbox-{uid}"), &labels)
    }

    fn container(uid: &str, name: &str) -> Theirs {
        let labels = [
            (KIND, "container"),
            (POD_UID, uid),
            (CONTAINER_NAME, name),
            // An image may claim what it likes.
            ("managed-by", "somebody"),
            (POD_NAME, "a-lie"),
        ];
        one(&format!("container-{uid}"), &labels)
    }

    #[test]
    fn a_container_belongs_to_the_pod_whose_sandbox_says_so() {
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
        let found = join(all, SOUGHT);
        assert_eq!(found.len(), 1, "{found:?}");
        let (theirs, pod, labels) = &found[0];
        assert_eq!(theirs.id, "container-1");
        assert_eq!(pod.to_string(), "team/lab-x7");
        assert_eq!(labels["managed-by"], "somebody");
    }

    #[test]
    fn the_image_is_what_the_pod_asked_for_where_that_was_noted() {
        let mut theirs = one("a", &[]);
        theirs.image = "sha256:abc".to_owned();
        assert_eq!(image(&theirs), "sha256:abc");
        let mut spec = |json: &str| {
            theirs.spec = Some(prost_types::Any {
                type_url: String::new(),
                value: json.as_bytes().to_vec(),
            });
            image(&theirs)
        };
        let noted = format!(r#"{{"annotations": {{"{IMAGE_NAME}": "a.example/scx_lab:1"}}}}"#);
        assert_eq!(spec(&noted), "a.example/scx_lab:1");
        let digest = noted.replace("a.example/scx_lab:1", "sha256:def");
        assert_eq!(spec(&digest), "sha256:abc");
        for strange in ["", "[]", r#"{"annotations": 7}"#, "{}"] {
            assert_eq!(spec(strange), "sha256:abc");
        }
    }

    #[test]
    fn containerd_is_asked_for_both_kinds() {
        assert_eq!(
            SOUGHT.filters(),
            [
                r#"labels."io.kubernetes.container.name"=="scx""#,
                r#"labels."managed-by"=="somebody""#
            ]
        );
    }
}
