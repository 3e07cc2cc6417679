//! Events for a SchedExt, from the difference between two statuses.

mod rollout;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use sked_api::{ConditionType, SchedExtStatus};

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
/// revision changes, when its images are verified, and for each step of a roll-out. A SchedExt without issues causes none.
pub fn events(old: Option<&SchedExtStatus>, new: &SchedExtStatus) -> Vec<Event> {
    let watched = [ConditionType::Degraded, ConditionType::Conflicted];
    let conditions = watched.into_iter().filter_map(|kind| {
        let old = old.and_then(|old| find(old, kind));
        change(old, find(new, kind)?)
    });
    let verified = old.and_then(|old| verified(old, new));
    let revision = old.and_then(|old| new_revision(old, new));
    let steps = old.into_iter().flat_map(|old| rollout::events(old, new));
    revision
        .into_iter()
        .chain(steps)
        .chain(conditions)
        .chain(verified)
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

/// When the images of a spec are accepted. A refusal is the event of `Degraded`.
fn verified(old: &SchedExtStatus, new: &SchedExtStatus) -> Option<Event> {
    let condition = find(new, ConditionType::Verified)?;
    let was = find(old, ConditionType::Verified).map(|one| &*one.status);
    (condition.status == "True" && was != Some("True")).then(|| Event {
        kind: EventKind::Normal,
        reason: condition.reason.clone(),
        message: condition.message.clone(),
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
