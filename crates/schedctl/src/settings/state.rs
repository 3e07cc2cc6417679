//! Where schedctl keeps verdicts and writes its audit log: in the folder that `SCHEDCTL_STATE` names,
//! else in the machine's own.

use std::path::Path;

use schedkit_image::signature::VerdictStore;

use super::environment::User;
use crate::audit_log::AuditLog;

const SYSTEM: &str = "/var/lib/schedctl";

/// Users other than root start nothing, so they keep verdicts only where they are told to.
pub(super) fn verdicts(user: User, named: Option<&Path>) -> Option<VerdictStore> {
    let (folder, owner) = match user {
        User::Root => (named.unwrap_or(Path::new(SYSTEM)), 0),
        User::Other(id) => (named?, id),
    };
    Some(VerdictStore::at(folder.join("verdicts"), owner))
}

/// `None` for users who start nothing.
pub(crate) fn audit(user: User, named: Option<&Path>) -> Option<AuditLog> {
    let named = named.map(|folder| AuditLog::at(folder.join("audit.log")));
    (user == User::Root).then(|| named.unwrap_or_else(AuditLog::system))
}
