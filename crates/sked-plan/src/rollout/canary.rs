//! Which nodes a canary has: chosen once and kept, and handed back at the end.

use std::collections::BTreeSet;

use sked_api::CanaryStatus;

use super::settings::canary_size;
use super::templates::Stable;
use super::view::{PartPod, Scope, View};
use crate::assignment::CanaryNodes;
use crate::name::NodeName;
use crate::part::Stage;

/// Which nodes may be given to canaries now.
#[derive(Clone, Copy)]
enum Allowance {
    /// Any: those of a first version.
    NothingToLose,
    /// So many that run a scheduler.
    Of(usize),
    /// Those without a scheduler: too many are down for another one.
    OnlyDown,
    Nothing,
}

/// The canaries with the nodes that they lack, as many as may lose their scheduler now, and without
/// nodes that are gone.
pub(super) fn chosen(view: &View<'_>, recorded: &[CanaryStatus]) -> Vec<CanaryStatus> {
    let mut allowance = allowance(view);
    let available = &view.observed.assignment.canaries;
    let canaries = available.iter().map(|(pool, nodes)| {
        let old = recorded.iter().find(|one| one.pool == *pool);
        let mut kept = old.map(|old| old.nodes.clone()).unwrap_or_default();
        kept.retain(|node| !is_gone(view, nodes, node));
        let wanted = wanted(view, nodes);
        let lacks = wanted.saturating_sub(kept.len());
        let new: Vec<NodeName> = match allowance {
            Allowance::NothingToLose => candidates(view, nodes, &kept)
                .take(lacks)
                .cloned()
                .collect(),
            Allowance::Of(most) => {
                let of_part = view.allowance(Scope::Pool(pool.as_deref()));
                let new = candidates(view, nodes, &kept).take(lacks.min(most).min(of_part));
                let new: Vec<_> = new.cloned().collect();
                allowance = Allowance::Of(most - new.len());
                new
            }
            Allowance::OnlyDown => {
                let up = view.up_nodes(Scope::All);
                let down = candidates(view, nodes, &kept).filter(|node| !up.contains(node));
                down.take(lacks).cloned().collect()
            }
            Allowance::Nothing => Vec::new(),
        };
        kept.extend(new.iter().map(NodeName::to_string));
        CanaryStatus {
            pool: pool.clone(),
            wanted: i32::try_from(wanted).unwrap_or(i32::MAX),
            nodes: kept,
        }
    });
    canaries.collect()
}

/// Whether every canary has the nodes that it can have, and all of them run the new revision for
/// long enough. A part without any node needs no canary, unless no part has one.
pub(super) fn is_soaked(view: &View<'_>, canaries: &[CanaryStatus]) -> bool {
    let soak = view.settings.canary_soak.unwrap_or(view.settings.soak);
    let runs: BTreeSet<&str> = view
        .pods
        .iter()
        .filter(|one| one.stage == Stage::Canary && one.runs_for(soak, view.now))
        .map(|one| &*one.node.0)
        .collect();
    let available = &view.observed.assignment.canaries;
    let done = available.iter().all(|(pool, nodes)| {
        let recorded = canaries.iter().find(|one| one.pool == *pool);
        let recorded = recorded.map(|one| one.nodes.clone()).unwrap_or_default();
        let lacks = wanted(view, nodes).saturating_sub(recorded.len());
        let can_grow = lacks > 0 && candidates(view, nodes, &recorded).next().is_some();
        let has_nodes = !recorded.is_empty() || nodes.total == 0;
        has_nodes && !can_grow && recorded.iter().all(|node| runs.contains(&**node))
    });
    done && canaries.iter().any(|one| !one.nodes.is_empty())
}

/// The canaries without those nodes that can go back now: those that do not run the scheduler, and
/// of the others as many as may lose it.
pub(super) fn handed_back(view: &View<'_>, recorded: &[CanaryStatus]) -> Vec<CanaryStatus> {
    let runs: BTreeSet<&str> = view
        .pods
        .iter()
        .filter(|one| one.stage == Stage::Canary && one.attached_since().is_some())
        .map(|one| &*one.node.0)
        .collect();
    // While the DaemonSet controller replaces pods, it uses the budget.
    let mut allowance = match view.is_stable_current() {
        true => view.allowance(Scope::All),
        false => 0,
    };
    let canaries = recorded.iter().map(|one| {
        let mut of_part = view.allowance(Scope::Pool(one.pool.as_deref()));
        let mut nodes = one.nodes.clone();
        nodes.retain(|node| {
            let stays = runs.contains(&**node) && allowance.min(of_part) == 0;
            if runs.contains(&**node) && !stays {
                allowance -= 1;
                of_part -= 1;
            }
            stays
        });
        CanaryStatus {
            nodes,
            ..one.clone()
        }
    });
    let mut canaries: Vec<_> = canaries.collect();
    canaries.retain(|one| !one.nodes.is_empty());
    canaries
}

fn allowance(view: &View<'_>) -> Allowance {
    match view.templates.stable() {
        Stable::Absent => Allowance::NothingToLose,
        Stable::Held(_) | Stable::Spec(_) => {
            // While the DaemonSet controller replaces pods, it uses the budget.
            let mut stable = view.pods.iter().filter(|one| one.stage == Stage::Stable);
            let is_current = stable.all(|one: &PartPod<'_>| one.is_current);
            let is_still = match view.templates.stable() {
                // They may be in the middle of what the spec asked for before.
                Stable::Held(_) => {
                    let goes_back = view.has_last_good() && !is_current;
                    !view.is_replacing() && !goes_back
                }
                _ => view.is_quiet && is_current,
            };
            match (is_still, view.allowance(Scope::All)) {
                (false, _) => Allowance::Nothing,
                (true, 0) => Allowance::OnlyDown,
                (true, most) => Allowance::Of(most),
            }
        }
    }
}

fn wanted(view: &View<'_>, nodes: &CanaryNodes) -> usize {
    let size = canary_size(view.schedext, nodes.total);
    size.min(crate::assignment::MAX_CANDIDATES)
}

fn candidates<'a>(
    view: &'a View<'_>,
    nodes: &'a CanaryNodes,
    taken: &'a [String],
) -> impl Iterator<Item = &'a NodeName> {
    let all = nodes.candidates.iter();
    all.filter(move |node| !taken.iter().any(|one| **one == *node.0) && !view.is_dead(node))
}

/// The claims looked for the node and did not find it, or it does not answer any more.
fn is_gone(view: &View<'_>, nodes: &CanaryNodes, node: &str) -> bool {
    let looked_for = nodes.recorded.iter().any(|one| *one.0 == *node);
    let found = nodes.present.iter().any(|one| *one.0 == *node);
    (looked_for && !found) || view.is_dead(&node.into())
}
