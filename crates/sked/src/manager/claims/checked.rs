//! The part of the loop that reads and writes nothing: a snapshot of a cluster uses it as well.

use std::collections::BTreeMap;

use sked_plan::assignment::Assignments;
use sked_plan::check::{check_claims, isolate};
use sked_plan::claim::{Claims, claim};
use sked_plan::debounce::NodeView;
use sked_plan::eligibility::{Eligibility, ExclusionReason};
use sked_plan::{Fleet, NodeName};

use crate::manager::observe::node_views;
use crate::manager::stores::Stores;

/// How often claims that break rules are confined to the SchedExts concerned: what is left out may
/// make another rule fail.
const ISOLATIONS: usize = 5;

/// The claims, without those that break a rule; `None` if nothing is left that breaks none.
pub(crate) fn checked_claims(fleet: &Fleet, before: &Assignments) -> Option<Claims> {
    let mut claims = claim(fleet);
    let mut violations = check_claims(fleet, &claims);
    for _ in 0..ISOLATIONS {
        if violations.is_empty() {
            break;
        }
        tracing::error!(?violations, "claims break the rules and are not written");
        claims = isolate(fleet, claims, &violations, before);
        violations = check_claims(fleet, &claims);
    }
    violations.is_empty().then_some(claims)
}

/// The eligibility of all nodes at this moment, not debounced.
pub(crate) fn eligibility_seen(
    stores: &Stores,
    sees_all_pods: bool,
) -> BTreeMap<NodeName, Eligibility> {
    let mut views = node_views(stores);
    if !sees_all_pods {
        views.iter_mut().for_each(ignore_foreign);
    }
    let known = views.into_iter();
    let known = known.filter_map(|view| Some((view.node.name.clone(), view.eligibility?)));
    known.collect()
}

/// A manager that does not see all pods cannot recognize a foreign scheduler.
pub(super) fn ignore_foreign(view: &mut NodeView) {
    if let Some(Eligibility::Excluded(ExclusionReason::Foreign(_))) = view.eligibility {
        view.eligibility = Some(Eligibility::Eligible);
    }
}
