//! What changed from one status to the next and is worth telling.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use sked_api::{ConditionType, SchedExtStatus};

/// Something worth telling in an event on the SchedExt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub kind: EventKind,
    /// In a word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

/// Whether somebody should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

impl EventKind {
    /// As the API says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Trouble and conflict that begin, change their reason or end, and a new revision. What goes well
/// from the start is no news.
pub fn events(old: Option<&SchedExtStatus>, new: &SchedExtStatus) -> Vec<Event> {
    let watched = [ConditionType::Degraded, ConditionType::Conflicted];
    let conditions = watched.into_iter().filter_map(|kind| {
        let old = old.and_then(|old| find(old, kind));
        change(old, find(new, kind)?)
    });
    old.and_then(|old| new_revision(old, new))
        .into_iter()
        .chain(conditions)
        .collect()
}

fn find(status: &SchedExtStatus, kind: ConditionType) -> Option<&Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.type_ == kind.as_str())
}

fn change(old: Option<&Condition>, new: &Condition) -> Option<Event> {
    let said = |condition: &Condition| (condition.status == "True", condition.reason.clone());
    let (is, reason) = said(new);
    let (was, old_reason) = old.map(said).unwrap_or_default();
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

fn new_revision(old: &SchedExtStatus, new: &SchedExtStatus) -> Option<Event> {
    let (old, new) = (old.revision.as_ref()?, new.revision.as_ref()?);
    (old != new).then(|| Event {
        kind: EventKind::Normal,
        reason: "NewRevision".to_owned(),
        message: format!("revision {new} takes the place of {old}"),
    })
}
