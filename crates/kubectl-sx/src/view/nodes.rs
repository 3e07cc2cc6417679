//! One line for each node.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use sked::snapshot::Snapshot;
use sked_plan::claim::{Explainer, Explanation};
use sked_plan::kernel_state::KernelState;
use sked_plan::part::key;
use sked_plan::status::{NodeStatus, node_statuses};
use sked_plan::{NodeName, ObjectKey};

use super::scheduler;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NodesView {
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NodeRow {
    pub(crate) node: String,
    /// The SchedExt that owns it.
    pub(crate) owner: Option<String>,
    pub(crate) part: Option<String>,
    /// The owner label.
    pub(crate) label: Option<String>,
    /// What the kernel runs, by its own name.
    pub(crate) scheduler: Option<String>,
    pub(crate) state: String,
    pub(crate) since: Option<Timestamp>,
}

pub(crate) fn view(snapshot: &Snapshot, notes: Vec<String>) -> NodesView {
    let explainer = Explainer::new(snapshot.fleet());
    let statuses = statuses(snapshot);
    let rows = explainer.all().map(|one| {
        let of = |owner: &ObjectKey| {
            let all = statuses.get(owner).into_iter().flatten();
            all.filter(|status| status.node == one.node)
                .max_by_key(|status| status.is_current)
        };
        let status = one.owner().and_then(|owner| of(&owner.schedext));
        row(&one, status, &snapshot.kernel(&one.node))
    });
    NodesView {
        nodes: rows.collect(),
        notes,
    }
}

fn statuses(snapshot: &Snapshot) -> BTreeMap<ObjectKey, Vec<NodeStatus>> {
    let all = snapshot.schedexts().into_iter();
    let observed = all.filter_map(|one| snapshot.observe(&key(&one)));
    let statuses = observed.map(|one| (key(&one.schedext), node_statuses(&one)));
    statuses.collect()
}

fn row(one: &Explanation, status: Option<&NodeStatus>, kernel: &KernelState) -> NodeRow {
    let node: &NodeName = &one.node;
    let (running, since) = match kernel {
        KernelState::Enabled { ops, since } => (Some(ops.to_string()), Some(*since)),
        _ => (None, None),
    };
    let state = match (&one.exclusion, status, one.owner()) {
        (Some(reason), _, _) => capitalized(&reason.to_string()),
        (None, Some(status), _) => scheduler::state(&status.state).to_owned(),
        (None, None, Some(_)) => "NoPod".to_owned(),
        (None, None, None) => match kernel {
            KernelState::Unknown(_) => "Unknown",
            _ if is_quarantined(one) => "Quarantined",
            _ => "Unclaimed",
        }
        .to_owned(),
    };
    NodeRow {
        node: node.to_string(),
        owner: one.owner().map(|owner| owner.schedext.to_string()),
        part: one.owner().map(|owner| scheduler::part(&owner.part)),
        label: one.label.clone(),
        scheduler: running,
        state,
        since,
    }
}

fn is_quarantined(one: &Explanation) -> bool {
    let mut candidates = one.candidates.iter();
    candidates.any(|rule| rule.refusal == Some(sked_plan::claim::Why::Quarantined))
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
