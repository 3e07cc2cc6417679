//! A live DaemonSet, read from the JSON that the API server sends and trimmed to what the planner
//! reads.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use serde::Deserialize;
use serde_json::Value;
use sked_api::label;

use crate::fingerprint::{Fingerprint, fingerprint};
use crate::name::{ObjectKey, OwnerId, Uid};
use crate::node::Node;
use crate::placement::{Fit, Placement};

/// A DaemonSet as the API server has it; [`LiveDaemonSet::read`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveDaemonSet {
    pub key: ObjectKey,
    pub uid: Uid,
    /// Sent back with a replace, so that the write cannot undo a change made by others.
    pub resource_version: String,
    /// The SchedExt that controls it, if one does.
    pub controller: Option<Uid>,
    /// Any other controller, as `Deployment/web`.
    pub other_controller: Option<String>,
    /// A hash of every field that sked sets; see [`crate::fingerprint`].
    pub fingerprint: Fingerprint,
    /// Which nodes its template admits, without the owner label.
    pub placement: Arc<Placement>,
    /// The owner label that its template asks for.
    pub owner: Option<OwnerId>,
    /// When [`crate::plan::PlanStep::Touch`] was executed last.
    pub touched: Option<Timestamp>,
    pub deleting: bool,
    pub generation: i64,
    /// The generation that the DaemonSet controller has processed.
    pub observed_generation: i64,
    /// Nodes that should run a pod.
    pub desired: i32,
    /// Nodes whose pod is of the latest template.
    pub updated: i32,
    /// Nodes whose pod is ready.
    pub ready: i32,
}

/// No field is a floating-point number.
impl Eq for LiveDaemonSet {}

impl Hash for LiveDaemonSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            key,
            uid,
            resource_version,
            controller,
            other_controller,
            fingerprint,
            // Read from the fields of which the fingerprint is a hash.
            placement: _,
            owner,
            touched,
            deleting,
            generation,
            observed_generation,
            desired,
            updated,
            ready,
        } = self;
        (key, uid, resource_version, controller, other_controller).hash(state);
        (fingerprint, owner, touched, deleting).hash(state);
        (generation, observed_generation, desired, updated, ready).hash(state);
    }
}

/// A JSON object that lacks a field which every DaemonSet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read a DaemonSet: it has no {0}")]
pub struct NotADaemonSet(&'static str);

impl LiveDaemonSet {
    /// Trims a whole DaemonSet; the caller need not keep the object itself.
    ///
    /// # Errors
    /// When name, namespace, uid or template is missing. The API server sends no such object.
    pub fn read(object: &Value) -> Result<Self, NotADaemonSet> {
        let metadata = &object["metadata"];
        let text = |name: &'static str| {
            let text = metadata[name].as_str().ok_or(NotADaemonSet(name))?;
            Ok(text.to_owned())
        };
        let pod = object.pointer("/spec/template/spec");
        let (controller, other_controller) = controller(metadata);
        let count = |name: &str| {
            let count = object["status"][name].as_i64().unwrap_or_default();
            i32::try_from(count).unwrap_or(i32::MAX)
        };
        Ok(Self {
            key: ObjectKey {
                namespace: text("namespace")?,
                name: text("name")?,
            },
            uid: Uid(text("uid")?),
            resource_version: text("resourceVersion")?,
            controller,
            other_controller,
            fingerprint: fingerprint(object),
            placement: Arc::new(placement(pod.ok_or(NotADaemonSet("template"))?)),
            owner: pod.and_then(owner),
            touched: metadata["annotations"][label::TOUCHED_AT]
                .as_str()
                .and_then(|text| text.parse().ok()),
            deleting: !metadata["deletionTimestamp"].is_null(),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            observed_generation: object["status"]["observedGeneration"]
                .as_i64()
                .unwrap_or_default(),
            desired: count("desiredNumberScheduled"),
            updated: count("updatedNumberScheduled"),
            ready: count("numberReady"),
        })
    }

    /// Whether the DaemonSet controller wants a pod of it on this node, taints aside that come and go
    /// by themselves.
    pub fn admits(&self, node: &Node) -> bool {
        let label = node.labels.get(label::OWNER);
        let owner = self.owner.map(|owner| owner.to_string());
        self.placement.lasting_fit(node) != Fit::Never
            && label.is_none_or(|label| owner.as_ref() == Some(label))
    }
}

/// The controlling SchedExt, or the name of another controller.
fn controller(metadata: &Value) -> (Option<Uid>, Option<String>) {
    let owners = metadata["ownerReferences"].as_array();
    let Some(owner) = owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true)
    else {
        return (None, None);
    };
    let text = |name: &str| owner[name].as_str().unwrap_or_default();
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    if text("kind") == "SchedExt" && group == "sked.schedkit.io" {
        return (Some(Uid(text("uid").to_owned())), None);
    }
    (None, Some(format!("{}/{}", text("kind"), text("name"))))
}

/// The value that the required node affinity asks the owner label for.
fn owner(pod: &Value) -> Option<OwnerId> {
    let terms = pod.pointer(
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    )?;
    let rules = terms.as_array()?.iter();
    let rules = rules.filter_map(|term| term["matchExpressions"].as_array());
    let mut owners = rules
        .flatten()
        .filter(|rule| rule["key"] == label::OWNER && rule["operator"] == "In")
        .filter_map(|rule| rule.pointer("/values/0")?.as_str()?.parse().ok());
    owners.next()
}

/// A field that cannot be parsed counts as if it admitted every node: the claims must assume that
/// the DaemonSet may run there.
fn placement(pod: &Value) -> Placement {
    let required = pod
        .pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")
        .and_then(|required| NodeSelector::deserialize(required).ok());
    let selector = Deserialize::deserialize(&pod["nodeSelector"]).unwrap_or_default();
    let mut tolerations = Vec::<Toleration>::deserialize(&pod["tolerations"]).unwrap_or_default();
    if pod["hostNetwork"] == true {
        tolerations.push(Toleration {
            key: Some("node.kubernetes.io/network-unavailable".to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoSchedule".to_owned()),
            ..Toleration::default()
        });
    }
    Placement::new(selector, required.as_ref(), tolerations)
}
