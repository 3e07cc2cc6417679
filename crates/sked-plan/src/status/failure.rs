//! What a write that failed means, and what to do about it.

use schedkit_core::sanitize;
use sked_api::Reason;

use super::trouble::{Trouble, name_taken};
use crate::plan::{Attempt, Failure};

/// Nothing when somebody else was just quicker: the next look decides anew.
pub(super) fn trouble(failure: &Failure) -> Option<Trouble> {
    let (reason, remedy) = match (failure.status, failure.attempt) {
        (Some(409), Attempt::Create) => return Some(taken(failure)),
        (Some(409), _) => return None,
        (Some(404), Attempt::Replace | Attempt::Delete) => return None,
        (Some(403 | 404), _) if is_terminating(failure) => (
            Reason::NamespaceTerminating,
            "nothing can be made in a namespace that is being deleted; wait until it is gone",
        ),
        (Some(403), _) if failure.message.contains("exceeded quota") => (
            Reason::QuotaExceeded,
            "raise the quota of DaemonSets in this namespace",
        ),
        (Some(401 | 403), _) => (
            Reason::NotAllowed,
            "let the manager's ClusterRole and the cluster's admission policies allow DaemonSets \
             in this namespace",
        ),
        (Some(400 | 413 | 422), _) => (Reason::InvalidSpec, "change the spec accordingly"),
        _ => (Reason::ApplyFailed, "it is tried again"),
    };
    let attempt = match failure.attempt {
        Attempt::Create => "create",
        Attempt::Replace => "update",
        Attempt::Delete => "delete",
    };
    let said = sanitize::brief(&failure.message);
    let message = format!(
        "could not {attempt} the DaemonSet {}: {said}; {remedy}",
        failure.key
    );
    Some(Trouble::overall(reason, message))
}

/// It came between the look and the write, or it is not among what sked watches.
fn taken(failure: &Failure) -> Trouble {
    name_taken(&failure.key, "somebody else")
}

fn is_terminating(failure: &Failure) -> bool {
    failure.message.contains("being terminated")
        || failure.status == Some(404) && failure.message.contains("namespaces")
}
