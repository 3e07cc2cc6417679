//! Maps a failed write to a reason and a remedy.

use schedkit_core::sanitize;
use sked_api::Reason;

use super::issue::{Issue, name_taken};
use crate::plan::{Attempt, Failure};

/// `None` if another client changed the object first: the next reconcile plans anew.
pub(super) fn issue(failure: &Failure) -> Option<Issue> {
    let (reason, remedy) = match (failure.status, failure.attempt) {
        (Some(409), Attempt::Create) => return Some(taken(failure)),
        (Some(409), _) => return None,
        (Some(404), Attempt::Replace | Attempt::Touch | Attempt::Delete) => return None,
        (Some(403 | 404), _) if is_terminating(failure) => (
            Reason::NamespaceTerminating,
            "nothing can be created in a namespace that is being deleted; wait until it is gone",
        ),
        (Some(403), _) if failure.message.contains("exceeded quota") => (
            Reason::QuotaExceeded,
            "raise the quota of DaemonSets in this namespace",
        ),
        (Some(401 | 403), _) => (
            Reason::NotAllowed,
            "allow DaemonSets in this namespace in the manager's ClusterRole and in the cluster's \
             admission policies",
        ),
        (Some(400 | 413 | 422), _) => (Reason::InvalidSpec, "correct the spec"),
        _ => (Reason::ApplyFailed, "sked tries again"),
    };
    let attempt = match failure.attempt {
        Attempt::Create => "create",
        Attempt::Replace | Attempt::Touch => "update",
        Attempt::Delete => "delete",
    };
    let cause = sanitize::brief(&failure.message);
    let message = format!(
        "could not {attempt} the DaemonSet {}: {cause}; {remedy}",
        failure.key
    );
    Some(Issue::overall(reason, message))
}

/// It was created after the plan was made, or it is outside of what sked watches.
fn taken(failure: &Failure) -> Issue {
    name_taken(&failure.key, "another controller")
}

fn is_terminating(failure: &Failure) -> bool {
    failure.message.contains("being terminated")
        || failure.status == Some(404) && failure.message.contains("namespaces")
}
