//! What would happen if a file were applied.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::DaemonSet;
use serde::Serialize;
use sked::snapshot::Snapshot;
use sked::snapshot::simulate::{End, SimulatedWrite};
use sked_api::RolloutPhase;
use sked_plan::claim::{Explainer, LabelWrite, OwnerLabel};
use sked_plan::part::{PartId, key, uid};
use sked_plan::plan::{PlanStep, WaitsFor};
use sked_plan::rollout::Settings;
use sked_plan::rollout::settings::max_unavailable;
use sked_plan::{NodeName, ObjectKey, OwnerId};

use super::scheduler;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanView {
    pub(crate) schedexts: Vec<PlannedSchedExt>,
    /// In the order in which sked would write.
    pub(crate) writes: Vec<WriteView>,
    /// Nodes whose owner changes.
    pub(crate) nodes: Vec<OwnerChange>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlannedSchedExt {
    pub(crate) schedext: String,
    pub(crate) change: Change,
    pub(crate) revision: Option<String>,
    pub(crate) phase: Option<String>,
    /// How many nodes each part has then.
    pub(crate) parts: Vec<PartCount>,
    pub(crate) conflicts: Vec<Conflict>,
    /// What happens after these writes.
    pub(crate) then: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Change {
    New,
    Changed,
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PartCount {
    pub(crate) part: String,
    pub(crate) nodes: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Conflict {
    pub(crate) node: String,
    pub(crate) why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "write", rename_all = "camelCase")]
pub(crate) enum WriteView {
    Label {
        node: String,
        from: Option<String>,
        to: Option<String>,
        /// Whose label it is then.
        owner: Option<String>,
    },
    Create {
        daemonset: String,
        image: Option<String>,
    },
    Replace {
        daemonset: String,
        image: Option<String>,
        /// The first few fields that differ.
        differs: Vec<String>,
    },
    Delete {
        daemonset: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OwnerChange {
    pub(crate) node: String,
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

/// Who has each node: SchedExt and part.
pub(crate) type OwnersOfNodes = BTreeMap<NodeName, (ObjectKey, PartId)>;

pub(crate) fn owners(snapshot: &Snapshot) -> OwnersOfNodes {
    let explainer = Explainer::new(snapshot.fleet());
    let owned = explainer.all().filter_map(|one| {
        let owner = one.owner()?;
        let owner = (owner.schedext.clone(), owner.part.clone());
        Some((one.node, owner))
    });
    owned.collect()
}

/// Nodes whose owner changes.
pub(crate) fn owner_changes(before: &OwnersOfNodes, after: &OwnersOfNodes) -> Vec<OwnerChange> {
    let nodes: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let name = |owner: Option<&(ObjectKey, PartId)>| {
        owner.map(|(schedext, part)| format!("{schedext}, {}", scheduler::part(part)))
    };
    let changes = nodes.into_iter().map(|node| OwnerChange {
        node: node.to_string(),
        from: name(before.get(node)),
        to: name(after.get(node)),
    });
    changes.filter(|one| one.from != one.to).collect()
}

/// `differs` has the fields in which a replaced DaemonSet differs.
pub(crate) fn write(
    write: &SimulatedWrite,
    labels: &BTreeMap<OwnerId, String>,
    differs: Vec<String>,
) -> Option<WriteView> {
    Some(match write {
        SimulatedWrite::Label(LabelWrite { node, from, to }) => WriteView::Label {
            node: node.to_string(),
            from: from.clone(),
            to: to.as_ref().map(ToString::to_string),
            owner: to.as_ref().map(|to| match to {
                OwnerLabel::Owner(owner) => labels
                    .get(owner)
                    .cloned()
                    .unwrap_or_else(|| owner.to_string()),
                OwnerLabel::Excluded(value) => (*value).to_owned(),
            }),
        },
        SimulatedWrite::DaemonSet(PlanStep::Create(desired)) => WriteView::Create {
            daemonset: name(desired),
            image: image(desired),
        },
        SimulatedWrite::DaemonSet(PlanStep::Replace { desired, .. }) => WriteView::Replace {
            daemonset: name(desired),
            image: image(desired),
            differs,
        },
        SimulatedWrite::DaemonSet(PlanStep::Delete { key, .. }) => WriteView::Delete {
            daemonset: key.to_string(),
        },
        SimulatedWrite::DaemonSet(PlanStep::Touch { .. }) => return None,
    })
}

fn name(desired: &DaemonSet) -> String {
    let metadata = &desired.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    format!(
        "{namespace}/{}",
        metadata.name.as_deref().unwrap_or_default()
    )
}

fn image(desired: &DaemonSet) -> Option<String> {
    let pod = desired.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.first()?.image.clone()
}

/// Names of all owner labels that SchedExts of the snapshot can have.
pub(crate) fn label_names(snapshot: &Snapshot) -> BTreeMap<OwnerId, String> {
    let mut names = BTreeMap::new();
    for schedext in snapshot.schedexts() {
        let (key, uid) = (key(&schedext), uid(&schedext));
        names.insert(
            OwnerId::quarantine(&uid),
            format!("the quarantine of {key}"),
        );
        for part in sked_plan::part::parts(&schedext) {
            for part in [part, part.canary()] {
                let name = format!("{key}, {}", scheduler::part(&part.id()));
                names.insert(part.owner(), name);
            }
        }
    }
    names
}

pub(crate) fn schedext(snapshot: &Snapshot, end: &End, change: Change) -> PlannedSchedExt {
    let observed = snapshot.observe(&end.key);
    let parts = observed.iter().flat_map(|observed| {
        let parts = observed.assignment.parts.iter();
        parts.map(|(id, part)| PartCount {
            part: scheduler::part(id),
            nodes: part.nodes.len(),
        })
    });
    let phase = end.status.rollout.as_ref().map(|rollout| rollout.phase);
    PlannedSchedExt {
        schedext: end.key.to_string(),
        change,
        revision: end.status.revision.clone(),
        phase: phase.map(|phase| phase.as_str().to_owned()),
        parts: parts.collect(),
        conflicts: conflicts(snapshot, &end.key),
        then: then(snapshot, end),
    }
}

fn conflicts(snapshot: &Snapshot, wanted: &ObjectKey) -> Vec<Conflict> {
    let explainer = Explainer::new(snapshot.fleet());
    let conflicts = explainer.all().filter_map(|one| {
        one.claims.iter().find(|claim| claim.schedext == *wanted)?;
        let why = match (&one.exclusion, one.owner()) {
            (Some(reason), _) => format!("no SchedExt may use it: {reason}"),
            (None, Some(owner)) if owner.schedext != *wanted => {
                format!("{} keeps it", owner.schedext)
            }
            _ => return None,
        };
        Some(Conflict {
            node: one.node.to_string(),
            why,
        })
    });
    conflicts.collect()
}

/// What follows when Kubernetes and the kernels have done their part.
fn then(snapshot: &Snapshot, end: &End) -> Vec<String> {
    let Some(observed) = snapshot.observe(&end.key) else {
        return Vec::new();
    };
    let settings = Settings::new(&observed.schedext);
    let nodes = observed.assignment.nodes();
    let mut then = Vec::new();
    for waiting in &end.plan.waiting {
        let key = &waiting.key;
        then.push(match &waiting.waits_for {
            WaitsFor::Claims => format!("the DaemonSet {key} waits for the claims"),
            WaitsFor::Labels(nodes) => {
                format!(
                    "the DaemonSet {key} waits for the labels of {} nodes",
                    nodes.len()
                )
            }
            WaitsFor::Deletion => {
                format!("the DaemonSet {key} waits until an earlier one is deleted")
            }
            WaitsFor::Rollout => format!("the DaemonSet {key} waits: see below"),
        });
    }
    for taken in &end.plan.taken {
        then.push(format!(
            "the DaemonSet {} cannot be written: {} has the name",
            taken.key, taken.by
        ));
    }
    let limit = max_unavailable(&observed.schedext, nodes);
    let rolls = format!(
        "the nodes get it {limit} at a time, each next one {}",
        match settings.soak.as_secs() {
            0 => "as soon as the kernel has attached the scheduler".to_owned(),
            soak => format!("when the scheduler has been attached for {soak} s"),
        }
    );
    let rollout = end.status.rollout.as_ref();
    match rollout.map(|rollout| rollout.phase) {
        _ if settings.is_paused => then.push(
            "the roll-out is paused (spec.rollout.paused): nothing else happens until it is resumed"
                .to_owned(),
        ),
        Some(RolloutPhase::Canary) => {
            let canary: Vec<_> = rollout.iter().flat_map(|one| one.canary_nodes()).collect();
            let soak = settings.canary_soak.unwrap_or(settings.soak).as_secs();
            then.push(match canary.is_empty() {
                true => "no node can be the canary now, so the roll-out waits".to_owned(),
                false => format!(
                    "the canary runs on {} first, for {soak} s",
                    canary.join(", ")
                ),
            });
            then.push(rolls);
            then.push("the canary's nodes follow last".to_owned());
        }
        Some(RolloutPhase::Rolling) => then.push(rolls),
        Some(RolloutPhase::Complete) => {}
        Some(RolloutPhase::RolledBack | RolloutPhase::Failed) => then.push(
            "this revision failed before, so it is not tried again until somebody asks for it (kubectl \
             sx rollout retry)"
                .to_owned(),
        ),
        None => then.push(
            "the roll-out has not begun: too many nodes are without their scheduler, or the claims have \
             no node for it"
                .to_owned(),
        ),
    }
    then
}
