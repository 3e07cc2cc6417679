//! Roll-outs: which revision of a SchedExt runs where, and what happens when it fails.
//!
//! ```text
//!                 soaked              every node has it
//!   Canary ───────────────▶ Rolling ───────────────────▶ Complete      (the last good revision)
//!      │                       │                            │
//!      └── a node fails ───────┴── a node fails ────────────┴── too many nodes fail
//!                              ▼
//!              RolledBack (to the last good revision), else Failed
//! ```
//!
//! A decision takes effect only once the status records it. [`Templates`] says, by the spec and by
//! that record, which spec each DaemonSet follows; `advance` computes the next record from what
//! is observed. Nothing is remembered anywhere else, so a manager that starts anew goes on where
//! the record is, and a record that was not written has had no effect.
//!
//! Without `spec.rollout` nothing is staged: a change reaches the DaemonSets at once, and is rolled
//! out by the DaemonSet controller alone. It goes back all the same when it fails.

pub(crate) mod advance;
mod begin;
mod canary;
mod enforce;
mod evidence;
mod fail;
pub(crate) mod good;
mod quarantine;
mod record;
pub mod requests;
pub(crate) mod running;
pub mod settings;
pub(crate) mod soak;
mod templates;
pub mod undo;
mod view;
mod watch;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::assignment::Assignment;
use crate::live_daemonset::LiveDaemonSet;
use crate::part::{parts, uid};

pub use good::put_back;
pub use quarantine::quarantined;
pub use record::Record;
pub use settings::Settings;
pub use templates::{Stable, Templates, current, last_good};

/// What a status records of the roll-out, as far as claims and plans depend on it. Equal keys mean
/// equal records; a key is compared within one process only.
pub fn record_key(schedext: &sked_api::SchedExt) -> u64 {
    let mut hash = DefaultHasher::new();
    if let Some(status) = &schedext.status {
        let rollout = status.rollout.as_ref().map(|one| {
            let canaries = one.canaries.iter().map(|one| (&one.pool, &one.nodes));
            (
                &one.revision,
                &one.selection,
                one.phase,
                canaries.collect::<Vec<_>>(),
            )
        });
        let good = status.last_good.as_ref();
        let good = good.map(|good| (&good.revision, &good.selection, &good.since.0));
        let rejected = status.rejected.as_ref();
        let rejected = rejected.map(|one| (&one.revision, &one.selection));
        let quarantined = status.quarantined.iter();
        let quarantined: Vec<_> = quarantined.map(|one| (&one.node, &one.revision)).collect();
        // Plain data always serializes.
        let accepted = status.accepted.as_ref();
        let accepted = accepted.map(|one| serde_json::to_string(one).unwrap_or_default());
        (rollout, good, rejected, quarantined, accepted).hash(&mut hash);
    }
    hash.finish()
}

/// Whether the claims have read the current spec and the current record.
pub fn are_claims_current(schedext: &sked_api::SchedExt, assignment: &Assignment) -> bool {
    assignment.generation == schedext.metadata.generation.unwrap_or_default()
        && assignment.record == record_key(schedext)
}

/// Whether any stable DaemonSet of the SchedExt is there.
pub fn is_deployed<'a>(
    schedext: &sked_api::SchedExt,
    daemonsets: impl Iterator<Item = &'a LiveDaemonSet>,
) -> bool {
    let uid = uid(schedext);
    let own: BTreeMap<_, _> = daemonsets
        .filter(|live| live.controller.as_ref() == Some(&uid) && !live.deleting)
        .map(|live| (&live.key, live))
        .collect();
    parts(schedext).any(|part| own.contains_key(&part.key()))
}
