//! What must never happen. A state in which it happened names the law.

use sked_api::{RolloutPhase, RolloutStatus, label};
use sked_plan::claim::{LabelWrite, OwnerLabel};
use sked_plan::rollout::settings::max_unavailable;
use sked_plan::{Node, NodeName, OwnerId, Uid};

use super::objects::{DaemonSet, Pod, SchedExt};
use super::planner::Planner;
use super::state::State;
use crate::kube::Verdict;

impl State {
    /// After every action.
    pub(super) fn check(&mut self, planner: &Planner) {
        if self.has_two_owners(planner) {
            self.break_law("two DaemonSets want a pod on one node");
        }
        let mut taken = std::mem::take(&mut self.history.taken);
        let runs = |pod: &Pod| pod.attached().is_some() && !pod.is_deleted;
        taken.retain(|node| !self.pods_on(node).any(|(_, pod)| runs(pod)));
        let limits = self.schedexts.all().map(|(_, one)| {
            let real = planner.schedext(one);
            max_unavailable(&real, self.nodes.all().count())
        });
        // For a dead node the limit is raised, and it may return before the manager knows.
        let limit = limits.sum::<usize>() + self.history.died.len();
        if taken.len() > limit {
            self.break_law("more nodes than maxUnavailable are down because of us");
        }
        self.history.taken = taken;
    }

    fn has_two_owners(&self, planner: &Planner) -> bool {
        let known = self
            .nodes
            .all()
            .filter(|(name, _)| !self.history.joined.contains(*name));
        known.map(|(_, node)| node).any(|node| {
            let all = self.daemonsets.all();
            let wants = |one: &DaemonSet| planner.verdict(one, node) == Verdict::Run;
            all.filter(|(_, one)| wants(one)).count() > 1
        })
    }

    /// A node that has the label of a canary gets its pod, whatever is decided meanwhile.
    pub(super) fn notice_label(&mut self, planner: &Planner, write: &LabelWrite) {
        let is_canary = |one: &SchedExt| {
            let canary = OwnerLabel::Owner(OwnerId::canary(&one.uid(), None));
            write.to == Some(canary)
        };
        let owner = self.schedexts.all().find(|(_, one)| is_canary(one));
        if let Some(image) = owner.map(|(_, one)| planner.specs[one.spec].sched.clone()) {
            self.history.reached.insert((image, write.node.clone()));
        }
    }

    /// A pod is about to be created.
    pub(super) fn notice_new_pod(
        &mut self,
        planner: &Planner,
        daemonset: &DaemonSet,
        node: &NodeName,
    ) {
        let template = &daemonset.spec.template;
        let here = (template.image.clone(), node.clone());
        let rejects = |one: &SchedExt| {
            let phases = [RolloutPhase::RolledBack, RolloutPhase::Failed];
            let phase = current(planner, one).map(|rollout| rollout.phase);
            let is_target = planner.specs[one.spec].sched == template.image;
            one.owns(daemonset) && is_target && phase.is_some_and(|phase| phases.contains(&phase))
        };
        let is_rejected = self.schedexts.all().any(|(_, one)| rejects(one));
        if is_rejected
            && !self.history.reached.contains(&here)
            && !self.history.joined.contains(node)
        {
            self.break_law("a rejected revision comes to a node that it had not reached");
        }
        self.history.reached.insert(here);
    }

    /// A pod is about to be deleted, by the DaemonSet controller.
    pub(super) fn notice_deletion(&mut self, planner: &Planner, pod: &Pod) {
        let mut schedexts = self.schedexts.all().map(|(_, one)| one.clone());
        let owner = schedexts.find(|one| one.name == pod.template.owner);
        drop(schedexts);
        let node = self.nodes.get(&pod.node);
        let Some((owner, node)) = owner.zip(node) else {
            return;
        };
        let spec = &planner.specs[owner.spec];
        let mut selector = spec.node_selector.iter();
        let is_wanted = selector.all(|(key, value)| node.labels.get(key) == Some(value));
        let is_ours = is_wanted && owner.may_have(node) && !self.is_dead(&pod.node);
        if pod.attached().is_none() || !is_ours {
            return;
        }
        let phase = current(planner, &owner).map(|rollout| rollout.phase);
        if phase == Some(RolloutPhase::Complete) && pod.template.image == spec.sched {
            self.break_law("a healthy pod of a complete revision is replaced");
        }
        // What is not available is replaced at once, whatever the limit.
        if !self.history.hit.contains(&pod.node) {
            self.history.taken.insert(pod.node.clone());
        }
    }
}

impl SchedExt {
    fn uid(&self) -> Uid {
        Uid(format!("uid-of-{}", self.name))
    }

    fn owns(&self, daemonset: &DaemonSet) -> bool {
        daemonset.spec.live.controller == Some(self.uid())
    }

    /// Whether the label neither gives the node to somebody else nor says that it failed there.
    fn may_have(&self, node: &Node) -> bool {
        let own = [
            OwnerId::new(&self.uid(), None),
            OwnerId::canary(&self.uid(), None),
        ];
        let label = node.labels.get(label::OWNER);
        label.is_none_or(|label| own.iter().any(|one| one.to_string() == *label))
    }
}

/// The record of what the spec asks for now.
pub(super) fn current<'a>(planner: &Planner, schedext: &'a SchedExt) -> Option<&'a RolloutStatus> {
    let rollout = schedext.record.status.rollout.as_ref()?;
    (rollout.revision == planner.revisions[schedext.spec]).then_some(rollout)
}
