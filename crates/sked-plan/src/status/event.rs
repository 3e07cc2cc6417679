//! Events for a SchedExt, from the difference between two statuses.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use sked_api::{ConditionType, RolloutPhase, RolloutStatus, SchedExtStatus};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    pub reason: String,
    pub message: String,
}

/// The type of a Kubernetes event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Normal,
    Warning,
}

impl EventKind {
    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event when Degraded or Conflicted becomes true, changes its reason or becomes false, when the
/// revision changes, and when a roll-out enters another phase. A SchedExt without issues causes none.
pub fn events(old: Option<&SchedExtStatus>, new: &SchedExtStatus) -> Vec<Event> {
    let watched = [ConditionType::Degraded, ConditionType::Conflicted];
    let conditions = watched.into_iter().filter_map(|kind| {
        let old = old.and_then(|old| find(old, kind));
        change(old, find(new, kind)?)
    });
    let phase = old.and_then(|old| phase(old, new));
    old.and_then(|old| new_revision(old, new))
        .into_iter()
        .chain(phase)
        .chain(conditions)
        .collect()
}

fn find(status: &SchedExtStatus, kind: ConditionType) -> Option<&Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.type_ == kind.as_str())
}

fn change(old: Option<&Condition>, new: &Condition) -> Option<Event> {
    let value = |condition: &Condition| (condition.status == "True", condition.reason.clone());
    let (is, reason) = value(new);
    let (was, old_reason) = old.map(value).unwrap_or_default();
    let kind = match (was, is) {
        (false, true) => EventKind::Warning,
        (true, true) if old_reason != reason => EventKind::Warning,
        (true, false) => EventKind::Normal,
        _ => return None,
    };
    Some(Event {
        kind,
        reason,
        message: new.message.clone(),
    })
}

/// Of the phases that no condition reports by an event of its own.
fn phase(old: &SchedExtStatus, new: &SchedExtStatus) -> Option<Event> {
    let before = old.rollout.as_ref();
    let rollout = new.rollout.as_ref()?;
    let same = |before: &RolloutStatus| {
        before.phase == rollout.phase && before.revision == rollout.revision
    };
    if before.is_some_and(same) {
        return None;
    }
    let revision = &rollout.revision;
    let message = match rollout.phase {
        RolloutPhase::Canary => format!("revision {revision} runs on the canary first"),
        RolloutPhase::Rolling if before.is_some() => {
            match rollout.canary_nodes().next().is_none() {
                true => format!("revision {revision} is rolled out"),
                false => {
                    format!("revision {revision} is rolled out to the nodes beyond the canary")
                }
            }
        }
        RolloutPhase::Complete if before.is_some() => {
            format!("every node has revision {revision}")
        }
        _ => return None,
    };
    Some(Event {
        kind: EventKind::Normal,
        reason: format!("Rollout{}", rollout.phase.as_str()),
        message,
    })
}

fn new_revision(old: &SchedExtStatus, new: &SchedExtStatus) -> Option<Event> {
    let (old, new) = (old.revision.as_ref()?, new.revision.as_ref()?);
    (old != new).then(|| Event {
        kind: EventKind::Normal,
        reason: "NewRevision".to_owned(),
        message: format!("revision {new} replaces {old}"),
    })
}
