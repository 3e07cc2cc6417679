//! Where schedctl keeps verdicts and trusted roots and writes its audit log: in the folder that `SCHEDCTL_STATE` names,
//! else in the machine's own.

use std::path::Path;

use schedkit_image::signature::VerdictStore;
use schedkit_image::trust::RootStore;

use super::environment::User;
use crate::audit_log::AuditLog;

const SYSTEM: &str = "/var/lib/schedctl";

pub(super) fn verdicts(user: User, named: Option<&Path>) -> Option<VerdictStore> {
    let (folder, owner) = folder(user, named)?;
    Some(VerdictStore::at(folder.join("verdicts"), owner))
}

pub(super) fn roots(user: User, named: Option<&Path>) -> Option<RootStore> {
    let (folder, owner) = folder(user, named)?;
    Some(RootStore::at(folder.join("trust"), owner))
}

/// `None` for users who start nothing.
pub(crate) fn audit(user: User, named: Option<&Path>) -> Option<AuditLog> {
    let named = named.map(|folder| AuditLog::at(folder.join("audit.log")));
    (user == User::Root).then(|| named.unwrap_or_else(AuditLog::system))
}

/// With its owner. Users other than root start nothing, so they keep something only where they are
/// told to.
fn folder(user: User, named: Option<&Path>) -> Option<(&Path, u32)> {
    Some(match user {
        User::Root => (named.unwrap_or(Path::new(SYSTEM)), 0),
        User::Other(id) => (named?, id),
    })
}
