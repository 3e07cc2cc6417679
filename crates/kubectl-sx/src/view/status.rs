//! SchedExts as trees: parts, revisions, nodes.

use jiff::Timestamp;
use serde::Serialize;
use sked_api::{ConditionType, SchedExt, SchedExtStatus};
use sked_plan::Observed;
use sked_plan::claim::Explanation;
use sked_plan::part::{Part, PartId, key};
use sked_plan::revision::revision;
use sked_plan::rollout::{Templates, current, is_deployed};
use sked_plan::status::{NodeStatus, node_statuses};

use super::scheduler;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusView {
    pub(crate) schedexts: Vec<SchedExtView>,
    /// What could not be read.
    pub(crate) notes: Vec<String>,
    /// Whether nodes that are well are shown, too, where they are many.
    #[serde(skip)]
    pub(crate) shows_all_nodes: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SchedExtView {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Of the spec.
    pub(crate) revision: String,
    /// Of the roll-out of that revision; missing while the manager has not recorded it.
    pub(crate) phase: Option<&'static str>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) conditions: Vec<ConditionView>,
    /// What the roll-out waits for.
    pub(crate) waits_for: Option<String>,
    /// Until when nodes must run the revision before the roll-out goes on.
    pub(crate) soaked_at: Option<Timestamp>,
    pub(crate) parts: Vec<PartView>,
    /// Selected nodes that it does not get, and why.
    pub(crate) not_used: Vec<NotUsedView>,
    pub(crate) quarantined: Vec<NotUsedView>,
    pub(crate) rejected: Option<String>,
    /// Why its spec cannot be read.
    pub(crate) unreadable: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ConditionView {
    pub(crate) r#type: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PartView {
    pub(crate) part: String,
    pub(crate) daemonset: Option<String>,
    pub(crate) image: Option<String>,
    pub(crate) revisions: Vec<RevisionView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RevisionView {
    /// Of the part; empty for nodes without a pod and for pods of earlier versions of sked.
    pub(crate) revision: String,
    /// Whether it is what the nodes of this part should run now.
    pub(crate) current: bool,
    pub(crate) nodes: Vec<NodeView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) node: String,
    pub(crate) state: &'static str,
    pub(crate) scheduler: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    /// Since when the kernel runs it.
    pub(crate) attached_since: Option<Timestamp>,
    pub(crate) soaked_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NotUsedView {
    pub(crate) node: String,
    pub(crate) why: String,
}

/// One SchedExt. `status` is what its status says now, `nodes` are explained.
pub(crate) fn view(
    observed: &Observed,
    status: &SchedExtStatus,
    nodes: &[Explanation],
) -> SchedExtView {
    let schedext = &observed.schedext;
    let statuses = node_statuses(observed);
    let conditions = conditions(status);
    let progressing = conditions
        .iter()
        .find(|one| one.r#type == ConditionType::Progressing.as_str() && one.status == "True");
    let waits_for = progressing.map(|one| format!("{} ({})", one.message, one.reason));
    let soaks = statuses.iter().filter_map(|one| one.soaked_at);
    let key = key(schedext);
    let record = current(schedext);
    SchedExtView {
        waits_for,
        soaked_at: soaks.filter(|at| *at > observed.now).max(),
        parts: parts(observed, &statuses, nodes),
        not_used: not_used(schedext, nodes),
        quarantined: quarantined(status),
        rejected: rejected(status),
        revision: revision(schedext),
        phase: record.map(|record| record.phase.as_str()),
        since: record.map(|record| record.since.0),
        conditions,
        unreadable: None,
        namespace: key.namespace,
        name: key.name,
    }
}

fn conditions(status: &SchedExtStatus) -> Vec<ConditionView> {
    let conditions = status.conditions.iter();
    let conditions = conditions.map(|one| ConditionView {
        r#type: one.type_.clone(),
        status: one.status.clone(),
        reason: one.reason.clone(),
        message: one.message.clone(),
    });
    conditions.collect()
}

fn parts(observed: &Observed, statuses: &[NodeStatus], explained: &[Explanation]) -> Vec<PartView> {
    let daemonsets = observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = is_deployed(&observed.schedext, daemonsets);
    let templates = Templates::new(&observed.schedext, is_deployed);
    let parts = templates.parts();
    let mut views: Vec<_> = parts
        .iter()
        .map(|part| {
            let id = part.id();
            let of_part = statuses.iter().filter(|one| one.part.as_ref() == Some(&id));
            let mut revisions = revisions(of_part, &part.revision());
            let without = without_pod(observed, statuses, explained, &id);
            if !without.is_empty() {
                revisions.push(RevisionView {
                    revision: String::new(),
                    current: false,
                    nodes: without,
                });
            }
            part_view(part, revisions)
        })
        .collect();
    let leftover = statuses.iter().filter(|one| one.part.is_none());
    let leftover = revisions(leftover, "");
    if !leftover.is_empty() {
        views.push(PartView {
            part: "not needed any more".to_owned(),
            daemonset: None,
            image: None,
            revisions: leftover,
        });
    }
    views
}

fn part_view(part: &Part<'_>, revisions: Vec<RevisionView>) -> PartView {
    PartView {
        part: scheduler::part(&part.id()),
        daemonset: Some(part.key().name),
        image: Some(part.sched().to_owned()),
        revisions,
    }
}

/// What the nodes should run comes first.
fn revisions<'a>(
    statuses: impl Iterator<Item = &'a NodeStatus>,
    current: &str,
) -> Vec<RevisionView> {
    let mut revisions: Vec<RevisionView> = Vec::new();
    for status in statuses {
        let node = node_view(status);
        let known = revisions
            .iter_mut()
            .find(|one| one.revision == status.revision);
        match known {
            Some(known) => known.nodes.push(node),
            None => revisions.push(RevisionView {
                revision: status.revision.clone(),
                current: status.revision == current,
                nodes: vec![node],
            }),
        }
    }
    revisions.sort_by(|one, other| {
        let order = |one: &RevisionView| (!one.current, one.revision.clone());
        order(one).cmp(&order(other))
    });
    revisions
}

fn node_view(status: &NodeStatus) -> NodeView {
    let unknown = match &status.state {
        sked_plan::node_state::NodeState::Unknown(reason) => Some(reason.to_string()),
        _ => None,
    };
    let problem = status.problem.as_ref();
    NodeView {
        node: status.node.to_string(),
        state: scheduler::state(&status.state),
        scheduler: scheduler::scheduler(&status.state),
        reason: problem.map(|problem| problem.reason.clone()),
        message: problem.map(|problem| problem.message.clone()).or(unknown),
        attached_since: status.attached_since,
        soaked_at: status.soaked_at,
    }
}

/// Nodes that the claims give to the part and that have no pod of it yet.
fn without_pod(
    observed: &Observed,
    statuses: &[NodeStatus],
    explained: &[Explanation],
    id: &PartId,
) -> Vec<NodeView> {
    let key = key(&observed.schedext);
    let owned = explained.iter().filter(|one| {
        let owner = one.owner();
        owner.is_some_and(|owner| owner.schedext == key && owner.part == *id && owner.runs)
    });
    let has_pod = |one: &&Explanation| {
        let mut of_part = statuses.iter();
        of_part.any(|status| status.node == one.node && status.part.as_ref() == Some(id))
    };
    let without = owned.filter(|one| !has_pod(one));
    let view = |one: &Explanation| NodeView {
        node: one.node.to_string(),
        state: "NoPod",
        scheduler: None,
        reason: None,
        message: Some("Kubernetes has created no pod for it yet".to_owned()),
        attached_since: None,
        soaked_at: None,
    };
    without.map(view).collect()
}

fn not_used(schedext: &SchedExt, explained: &[Explanation]) -> Vec<NotUsedView> {
    let key = key(schedext);
    let claimed = explained
        .iter()
        .filter(|one| one.claims.iter().any(|claim| claim.schedext == key));
    let not_used = claimed.filter_map(|one| {
        let why = match (&one.exclusion, one.owner()) {
            (Some(reason), _) => format!("no SchedExt may use it: {reason}"),
            (None, Some(owner)) if owner.schedext != key => format!("{} owns it", owner.schedext),
            _ => return None,
        };
        Some(NotUsedView {
            node: one.node.to_string(),
            why,
        })
    });
    not_used.collect()
}

fn quarantined(status: &SchedExtStatus) -> Vec<NotUsedView> {
    let quarantined = status.quarantined.iter();
    let quarantined = quarantined.map(|one| NotUsedView {
        node: one.node.clone(),
        why: format!("revision {} failed there: {}", one.revision, one.message),
    });
    quarantined.collect()
}

fn rejected(status: &SchedExtStatus) -> Option<String> {
    let rejected = status.rejected.as_ref()?;
    let on = match rejected.node.as_str() {
        "" => String::new(),
        node => format!(" on {node}"),
    };
    Some(format!(
        "revision {} failed{on} ({}): {}",
        rejected.revision, rejected.reason, rejected.message
    ))
}
