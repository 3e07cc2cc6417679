//! Confines violations to the SchedExts and nodes that they concern, so that a bug in the claims of
//! one SchedExt does not stop all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::violation::Violation;
use crate::assignment::{Assignment, Assignments};
use crate::claim::{Claims, LabelWrite, OwnerLabel};
use crate::name::{NodeName, ObjectKey, OwnerId, Uid};
use crate::observed::Fleet;
use crate::part::{parts, uid};
use crate::rollout;

/// The claims without what the violations name: no label of those nodes is written, and those
/// SchedExts keep the assignment that they had before, with the violation in it. The result must be
/// checked again.
pub fn isolate(
    fleet: &Fleet,
    claims: Claims,
    violations: &[Violation],
    before: &Assignments,
) -> Claims {
    let owners = Owners::new(fleet);
    let mut frozen: BTreeMap<Uid, String> = BTreeMap::new();
    let mut nodes: BTreeSet<&NodeName> = BTreeSet::new();
    for violation in violations {
        let (node, schedexts) = concerned(violation, &claims, &owners);
        nodes.extend(node);
        for schedext in schedexts {
            frozen.insert(schedext, violation.to_string());
        }
    }
    let Claims {
        mut assignments,
        mut writes,
    } = claims;
    writes.retain(|write| {
        let mut parties = owners.parties(write);
        !nodes.contains(&write.node) && !parties.any(|uid| frozen.contains_key(uid))
    });
    for (uid, violation) in frozen {
        let before = before.get(&uid).map(|before| Assignment::clone(before));
        let assignment = Assignment {
            violation: Some(violation),
            ..before.unwrap_or_default()
        };
        assignments.insert(uid, Arc::new(assignment));
    }
    Claims {
        assignments,
        writes,
    }
}

/// Whose DaemonSets and owner labels are whose.
struct Owners {
    daemonsets: BTreeMap<ObjectKey, Uid>,
    labels: BTreeMap<String, Uid>,
}

impl Owners {
    fn new(fleet: &Fleet) -> Self {
        let mut owners = Self {
            daemonsets: BTreeMap::new(),
            labels: BTreeMap::new(),
        };
        for schedext in &fleet.schedexts {
            let uid = uid(schedext);
            let quarantine = OwnerId::quarantine(&uid).to_string();
            owners.labels.insert(quarantine, uid.clone());
            let good = rollout::last_good(schedext);
            let good = good.iter().flat_map(parts);
            for part in parts(schedext)
                .chain(good)
                .flat_map(|part| [part, part.canary()])
            {
                owners.daemonsets.insert(part.key(), uid.clone());
                owners.labels.insert(part.owner().to_string(), uid.clone());
            }
        }
        owners
    }

    fn of(&self, owner: OwnerId) -> Option<&Uid> {
        self.labels.get(&owner.to_string())
    }

    /// Who has the node before and after a write.
    fn parties<'a>(&'a self, write: &'a LabelWrite) -> impl Iterator<Item = &'a Uid> {
        let from = write.from.as_ref().and_then(|from| self.labels.get(from));
        let to = match write.to {
            Some(OwnerLabel::Owner(owner)) => self.of(owner),
            Some(OwnerLabel::Excluded(_)) | None => None,
        };
        from.into_iter().chain(to)
    }
}

fn concerned<'a>(
    violation: &'a Violation,
    claims: &Claims,
    owners: &Owners,
) -> (Option<&'a NodeName>, Vec<Uid>) {
    match violation {
        Violation::TwoOwners {
            node,
            first,
            second,
        } => {
            let both = [first, second].into_iter();
            let both = both.filter_map(|key| owners.daemonsets.get(key).cloned());
            (Some(node), both.collect())
        }
        Violation::ForbiddenLabelWrite { node } | Violation::InconsistentLabelWrite { node } => {
            let writes = claims.writes.iter().filter(|write| write.node == *node);
            let parties = writes.flat_map(|write| owners.parties(write)).cloned();
            (Some(node), parties.collect())
        }
        Violation::TooManyNodes { uid } => (None, vec![uid.clone()]),
        // Of plans, not of claims.
        Violation::NotOurs { .. }
        | Violation::StillNeeded { .. }
        | Violation::TooEarly { .. }
        | Violation::Deleting
        | Violation::Contract { .. } => (None, Vec::new()),
    }
}
