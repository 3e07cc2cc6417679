//! The nodes that do not run a SchedExt's scheduler any more, because a revision of it failed there.

use sked_api::{QuarantinedNode, SchedExt};

use crate::revision::revision;

/// Those of the revision that the spec asks for: another one may succeed where it failed.
pub fn quarantined(schedext: &SchedExt) -> impl Iterator<Item = &QuarantinedNode> {
    let status = schedext.status.as_ref();
    let all = status.map_or(&[][..], |status| &status.quarantined);
    // Nearly always there is none, and no hash is needed.
    let revision = all.first().map(|_| revision(schedext));
    all.iter()
        .filter(move |one| Some(&one.revision) == revision.as_ref())
}
