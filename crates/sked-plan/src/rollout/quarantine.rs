//! The nodes that do not run a SchedExt's scheduler any more, because a revision of it failed there.

use sked_api::{QuarantinedNode, SchedExt};

/// Those of that revision: another one may succeed where it failed.
pub fn quarantined<'a>(
    schedext: &'a SchedExt,
    revision: &'a str,
) -> impl Iterator<Item = &'a QuarantinedNode> {
    let all = schedext
        .status
        .iter()
        .flat_map(|status| &status.quarantined);
    all.filter(move |one| one.revision == revision)
}
