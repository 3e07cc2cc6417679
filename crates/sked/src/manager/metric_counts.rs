//! Counts for the metrics: SchedExts and nodes by state, computed at each scrape, and ejections,
//! computed from two statuses.

use std::collections::BTreeSet;

use sked_api::{ConditionType, Counts, RolloutPhase, SchedExt, SchedExtStatus, VerificationState};
use sked_plan::{ObjectKey, OwnerId};

use crate::manager::metrics::{Happened, NodesOf, PhaseOf};
use crate::manager::stores::{Stored, Stores};

/// By their conditions; each counts once, with its worst state.
pub(crate) fn schedexts(stores: &Stores) -> Vec<(&'static str, usize)> {
    let mut counts = [
        ("unreadable", 0),
        ("degraded", 0),
        ("conflicted", 0),
        ("progressing", 0),
        ("ready", 0),
        ("unknown", 0),
    ];
    for seen in stores.schedexts.all() {
        let state = seen
            .schedext()
            .map_or("unreadable", |schedext| state(schedext));
        for (name, count) in &mut counts {
            *count += usize::from(*name == state);
        }
    }
    counts.into()
}

/// By whether their images are verified.
pub(crate) fn verification(stores: &Stores) -> Vec<(&'static str, usize)> {
    let mut counts = [
        ("not_verified", 0),
        ("verified", 0),
        ("refused", 0),
        ("policy_violated", 0),
        ("unknown", 0),
    ];
    for seen in stores.schedexts.all() {
        let status = seen
            .schedext()
            .and_then(|schedext| schedext.status.as_ref());
        let Some(state) = status.and_then(|status| status.verification) else {
            continue;
        };
        let state = match state {
            VerificationState::Off => "not_verified",
            VerificationState::Verified => "verified",
            VerificationState::Refused => "refused",
            VerificationState::Violated => "policy_violated",
            VerificationState::Unknown => "unknown",
        };
        for (name, count) in &mut counts {
            *count += usize::from(*name == state);
        }
    }
    counts.into()
}

fn state(schedext: &SchedExt) -> &'static str {
    let conditions = schedext.status.iter().flat_map(|status| &status.conditions);
    let holds = |kind: ConditionType| {
        let mut conditions = conditions.clone();
        conditions.any(|one| one.type_ == kind.as_str() && one.status == "True")
    };
    let states = [
        (ConditionType::Degraded, "degraded"),
        (ConditionType::Conflicted, "conflicted"),
        (ConditionType::Progressing, "progressing"),
        (ConditionType::Ready, "ready"),
    ];
    let state = states.into_iter().find(|(kind, _)| holds(*kind));
    state.map_or("unknown", |(_, state)| state)
}

/// By their owner label: owned, free or reserved.
pub(crate) fn nodes(stores: &Stores) -> Vec<(&'static str, usize)> {
    let [mut free, mut owned, mut reserved] = [0; 3];
    for node in stores.nodes.all() {
        let owner = node.labels.get(sked_api::label::OWNER);
        match owner.map(|owner| owner.parse::<OwnerId>()) {
            None => free += 1,
            Some(Ok(_)) => owned += 1,
            Some(Err(_)) => reserved += 1,
        }
    }
    vec![("free", free), ("owned", owned), ("reserved", reserved)]
}

/// All SchedExts, also those that cannot be parsed.
pub(crate) fn names(stores: &Stores) -> BTreeSet<ObjectKey> {
    let seen = stores.schedexts.all();
    seen.iter().map(|seen| seen.key()).collect()
}

/// What happened between two statuses.
pub(crate) fn happened(before: Option<&SchedExtStatus>, after: &SchedExtStatus) -> Happened {
    let is_back = |status: &SchedExtStatus| {
        let phase = status.rollout.as_ref().map(|rollout| rollout.phase);
        phase == Some(RolloutPhase::RolledBack)
    };
    let was_back = before.is_some_and(is_back);
    Happened {
        ejections: newly_ejected(before, after),
        rollbacks: u64::from(is_back(after) && !was_back),
    }
}

/// The phase of each SchedExt's roll-out, and how many of its nodes are quarantined.
pub(crate) fn phases(stores: &Stores) -> Vec<PhaseOf> {
    let all = stores.schedexts.all();
    let phases = all.iter().filter_map(|seen| {
        let schedext = seen.schedext()?;
        let status = schedext.status.as_ref()?;
        Some(PhaseOf {
            schedext: sked_plan::part::key(schedext),
            phase: status.rollout.as_ref()?.phase.as_str(),
            quarantined: status.quarantined.len(),
        })
    });
    phases.collect()
}

/// How many kernels ejected the scheduler between two statuses. `counts.ejected` has a node until its
/// kernel runs the scheduler again, so every ejection makes it rise.
fn newly_ejected(before: Option<&SchedExtStatus>, after: &SchedExtStatus) -> u64 {
    let ejected = |status: &SchedExtStatus| status.counts.map_or(0, |counts| counts.ejected);
    let rise = ejected(after) - before.map_or(0, ejected);
    u64::try_from(rise).unwrap_or(0)
}

/// Each SchedExt's nodes by state, from its status.
pub(crate) fn nodes_of(stores: &Stores) -> Vec<NodesOf> {
    let mut found = Vec::new();
    for seen in stores.schedexts.all() {
        let Some(schedext) = seen.schedext() else {
            continue;
        };
        let status = schedext.status.as_ref();
        let Some(counts) = status.and_then(|status| status.counts) else {
            continue;
        };
        let key = sked_plan::part::key(schedext);
        found.extend(by_state(counts).map(|(state, count)| NodesOf {
            namespace: key.namespace.clone(),
            schedext: key.name.clone(),
            state,
            count,
        }));
    }
    found
}

fn by_state(counts: Counts) -> impl Iterator<Item = (&'static str, i64)> {
    let Counts {
        desired,
        attached,
        ejected,
        unknown,
        conflicted,
        foreign,
        unsupported,
        quarantined,
    } = counts;
    let known = [
        ("desired", desired),
        ("ejected", ejected),
        ("unknown", unknown),
        ("conflicted", conflicted),
        ("foreign", foreign),
        ("unsupported", unsupported),
        ("quarantined", quarantined),
    ];
    let attached = attached.map(|attached| ("attached", attached));
    let all = known.into_iter().chain(attached);
    all.map(|(state, count)| (state, i64::from(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ejected: i32) -> SchedExtStatus {
        let counts = Counts {
            ejected,
            ..Counts::default()
        };
        SchedExtStatus {
            counts: Some(counts),
            ..SchedExtStatus::default()
        }
    }

    #[test]
    fn only_a_rise_is_an_ejection() {
        for (before, after, new) in [(0, 2, 2), (1, 3, 2), (2, 2, 0), (3, 1, 0)] {
            assert_eq!(newly_ejected(Some(&status(before)), &status(after)), new);
        }
        assert_eq!(newly_ejected(None, &status(1)), 1);
        assert_eq!(newly_ejected(None, &SchedExtStatus::default()), 0);
    }
}
