//! What must never happen, checked after every second.

use std::collections::{BTreeMap, BTreeSet};

use sked_api::{RolloutPhase, SchedExt};
use sked_plan::part::uid;
use sked_plan::rollout::settings::max_unavailable;
use sked_plan::{NodeName, Uid};

use super::world::{Laws, Pod, World};

impl Laws {
    pub(crate) fn check(&mut self, world: &World) -> Vec<String> {
        let mut broken: Vec<String> = self.rejected(world).into_iter().collect();
        broken.extend(self.one_scheduler(world));
        broken.extend(self.budget(world));
        for pod in world.pods.iter().filter(|pod| pod.has_container()) {
            let reached = self.reached.entry(pod.image.clone()).or_default();
            reached.insert(pod.node.clone());
        }
        let now = world.pods.iter().map(|pod| {
            let attached = pod.attached().is_some() && pod.ends_at.is_none();
            (
                pod.uid.clone(),
                (owner(world, pod), pod.node.clone(), attached),
            )
        });
        self.before = now.collect();
        broken
    }

    /// A revision that was rejected starts on no node that it had not reached.
    fn rejected(&self, world: &World) -> Option<String> {
        let rejected = world.schedexts.iter().filter(|one| is_rejected(one));
        let images: Vec<_> = rejected.map(|one| (uid(one), &one.spec.sched)).collect();
        let mut pods = world.pods.iter().filter(|pod| pod.has_container());
        let new = pods.find(|pod| {
            let reached = self.reached.get(&pod.image);
            let is_new = !reached.is_some_and(|reached| reached.contains(&pod.node));
            let rejected = images
                .iter()
                .any(|(uid, image)| *uid == owner(world, pod) && **image == pod.image);
            is_new && rejected && pod.ends_at.is_none()
        });
        new.map(|pod| format!("the rejected {} has started on {}", pod.image, pod.node))
    }

    fn one_scheduler(&self, world: &World) -> Option<String> {
        let mut nodes = BTreeSet::new();
        let mut with_container = world.pods.iter().filter(|pod| pod.has_container());
        let second = with_container.find(|pod| !nodes.insert(&pod.node));
        second.map(|pod| format!("two schedulers on {}", pod.node))
    }

    /// Not more nodes than `maxUnavailable` are without a scheduler because sked took it away.
    fn budget(&mut self, world: &World) -> Vec<String> {
        let now: BTreeMap<&Uid, &Pod> = world.pods.iter().map(|pod| (&pod.uid, pod)).collect();
        for (pod, (owner, node, attached)) in &self.before {
            let leaves = now.get(pod).is_none_or(|pod| pod.ends_at.is_some());
            if *attached && leaves && world.node(node).is_some() {
                self.taken
                    .entry(owner.clone())
                    .or_default()
                    .insert(node.clone());
            }
        }
        let runs: BTreeSet<&NodeName> = world
            .pods
            .iter()
            .filter(|pod| pod.attached().is_some() && pod.ends_at.is_none())
            .map(|pod| &pod.node)
            .collect();
        for taken in self.taken.values_mut() {
            taken.retain(|node| {
                let dead = world.dead.contains(node) || world.node(node).is_none();
                !runs.contains(node) && !dead
            });
        }
        let broken = world.schedexts.iter().filter_map(|one| {
            let status = one.status.clone().unwrap_or_default();
            let failed: BTreeSet<_> = status.quarantined.into_iter().map(|one| one.node).collect();
            let taken = self.taken.get(&uid(one))?.iter();
            // A dead node, and one whose scheduler failed, do not count: they are not our doing.
            let taken: Vec<_> = taken.filter(|node| !failed.contains(&*node.0)).collect();
            let limit = max_unavailable(one, world.nodes.len());
            (taken.len() > limit && !self.ignores_budget).then(|| {
                format!(
                    "{} nodes of {:?} are down: {taken:?}",
                    taken.len(),
                    one.metadata.name
                )
            })
        });
        broken.collect()
    }
}

fn is_rejected(schedext: &SchedExt) -> bool {
    let rollout = sked_plan::rollout::current(schedext);
    rollout.is_some_and(|rollout| {
        matches!(
            rollout.phase,
            RolloutPhase::RolledBack | RolloutPhase::Failed
        )
    })
}

/// The uid of the SchedExt.
fn owner(world: &World, pod: &Pod) -> Uid {
    let daemonset = world.daemonset(&pod.daemonset);
    let owner = daemonset.map(|one| &one["metadata"]["ownerReferences"][0]["uid"]);
    Uid(owner
        .and_then(|owner| owner.as_str())
        .unwrap_or_default()
        .to_owned())
}
