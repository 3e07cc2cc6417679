//! What is explained is what is decided.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sked_plan::claim::{Explainer, Explanation, claim};
use sked_plan::{Fleet, ObjectKey};

use crate::generate::{cases, cluster};

/// The claims, put together from the explanations of all nodes, are those that were computed.
fn same(fleet: &Fleet) -> Result<(), TestCaseError> {
    let claims = claim(fleet);
    let explainer = Explainer::new(fleet);
    let explained: Vec<Explanation> = explainer.all().collect();
    let writes = explained.iter().filter_map(|one| one.write.clone());
    prop_assert_eq!(&writes.collect::<Vec<_>>(), &claims.writes);
    for schedext in &fleet.schedexts {
        let Some(assignment) = claims.assignments.get(&sked_plan::part::uid(schedext)) else {
            continue;
        };
        let key = sked_plan::part::key(schedext);
        let of = |wanted: &ObjectKey, one: &Explanation| {
            let mut claims = one.claims.iter();
            claims.any(|claim| claim.schedext == *wanted)
        };
        let mut nodes = BTreeMap::new();
        let (mut lost, mut excluded) = (0, 0);
        for one in explained.iter().filter(|one| of(&key, one)) {
            match one.owner() {
                None => excluded += 1,
                Some(owner) if owner.schedext == key => {
                    *nodes.entry(owner.part.clone()).or_insert(0) += usize::from(owner.runs);
                }
                Some(_) => lost += 1,
            }
        }
        prop_assert_eq!(lost, assignment.lost.count);
        prop_assert_eq!(excluded, assignment.excluded.count());
        for (id, part) in &assignment.parts {
            let explained = nodes.get(id).copied().unwrap_or_default();
            prop_assert_eq!(explained, part.nodes.len(), "{:?}", id);
        }
    }
    for one in &explained {
        let losers = one.claims.iter().skip(1);
        let strengths = |claim: &sked_plan::claim::ClaimRule| {
            (claim.is_unreadable, claim.priority, claim.presence)
        };
        if let Some(first) = one.claims.first() {
            prop_assert!(
                losers
                    .clone()
                    .all(|other| strengths(other) <= strengths(first))
            );
        }
        prop_assert_eq!(one.decided_by.is_some(), losers.count() > 0);
        for claim in &one.claims {
            let is_it = |rule: &&sked_plan::claim::CandidateRule| {
                rule.daemonset == claim.daemonset && rule.refusal.is_none()
            };
            prop_assert!(one.candidates.iter().any(|rule| is_it(&rule)));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_is_explained_is_what_is_decided(mut cluster in cluster()) {
        same(&cluster.fleet())?;
        cluster.settle();
        same(&cluster.fleet())?;
    }

    /// Also while DaemonSets of deleted SchedExts are left.
    #[test]
    fn what_is_left_is_explained_as_well(mut cluster in cluster(), at: proptest::sample::Index) {
        cluster.settle();
        if !cluster.schedexts.is_empty() {
            let at = at.index(cluster.schedexts.len());
            cluster.schedexts.remove(at);
        }
        same(&cluster.fleet())?;
    }
}
