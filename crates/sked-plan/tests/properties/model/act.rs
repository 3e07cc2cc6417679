//! Everything that can happen next.
//!
//! What the cluster does by itself happens in every order. Time passes only when nothing else is left
//! to do, and then to the next moment in which something is due: who is slower than that has a
//! fault. Faults and edits are limited by the budget, their ends are not.

use sked_plan::NodeName;

use super::manager::Until;
use super::objects::{Container, End};
use super::planner::Planner;
use super::state::State;
use super::surroundings::{WATCHES, Watch};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Claim(Until),
    Reconcile(&'static str, Until),
    WriteGates(Until),
    DaemonSetController,
    Kubelet(NodeName),
    /// All of them.
    Kubelets,
    TimePasses,
    // Ends of faults.
    Deliver(Watch),
    Revive(NodeName),
    Speak(NodeName),
    Join(NodeName),
    // Faults.
    Stall(Watch),
    Restart,
    Die(NodeName),
    Reboot(NodeName),
    Silence(NodeName),
    Vanish(NodeName),
    /// The kernel ejects the scheduler that the node runs.
    Eject(NodeName),
    // Users.
    Edit(&'static str, usize),
    Remove(&'static str),
}

/// What users may do.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    /// The spec that this SchedExt may get; a SchedExt that does not exist is created.
    pub(super) edits: Vec<(&'static str, usize)>,
    pub(super) removals: Vec<&'static str>,
}

/// The most writes of a round of the manager after which it may be killed.
const MOST_WRITES: usize = 3;

impl State {
    /// The state after it; `None` if nothing changes.
    pub(super) fn after(&self, act: &Act, planner: &Planner) -> Option<Self> {
        let mut next = self.clone();
        next.act(act, planner);
        if next == *self {
            return None;
        }
        next.check(planner);
        Some(next)
    }

    fn act(&mut self, act: &Act, planner: &Planner) {
        match act {
            Act::Claim(until) => self.claim(planner, *until),
            Act::Reconcile(name, until) => self.reconcile(planner, name, *until),
            Act::WriteGates(until) => self.write_gates(planner, *until),
            Act::DaemonSetController => self.run_daemonset_controller(planner),
            Act::Kubelet(node) => self.run_kubelet(node),
            Act::Kubelets => {
                let nodes: Vec<_> = self.nodes.all().map(|(name, _)| name.clone()).collect();
                nodes.iter().for_each(|node| self.run_kubelet(node));
            }
            Act::TimePasses => {
                if let Some(seconds) = self.next_due(planner) {
                    self.pass(seconds);
                }
            }
            Act::Deliver(watch) => self.deliver(*watch),
            Act::Revive(node) => self.revive(node),
            Act::Speak(node) => self.speak(node),
            Act::Join(node) => self.join(node, "uid-2"),
            Act::Stall(watch) => self.stall(*watch),
            Act::Restart => self.restart(),
            Act::Die(node) => self.die(node),
            Act::Reboot(node) => self.reboot(node),
            Act::Silence(node) => self.silence(node),
            Act::Vanish(node) => self.vanish(node),
            Act::Eject(node) => self.end_container(node, End::Stall),
            Act::Edit(name, spec) => match self.schedexts.get(name) {
                None => self.add(name, *spec),
                Some(_) => self.edit(name, *spec),
            },
            Act::Remove(name) => self.schedexts.remove(name),
        }
    }

    fn next_due(&self, planner: &Planner) -> Option<i64> {
        let names: Vec<_> = self.schedexts.seen().keys().copied().collect();
        let due = names
            .into_iter()
            .filter_map(|name| planner.reconciled(self, name)?.due);
        let due = due.chain(self.next_available()).chain(self.next_restart());
        due.min()
    }

    /// What the cluster does by itself, each node for itself.
    pub(super) fn own_acts(&self) -> Vec<Act> {
        let nodes = self.nodes.all().map(|(name, _)| Act::Kubelet(name.clone()));
        nodes
            .chain(self.acts_in_turn().into_iter().skip(1))
            .collect()
    }

    /// The same in the order in which a run without faults takes it.
    pub(super) fn acts_in_turn(&self) -> Vec<Act> {
        let mut acts = vec![Act::Kubelets];
        acts.push(Act::DaemonSetController);
        acts.push(Act::WriteGates(Until::TheEnd));
        acts.push(Act::Claim(Until::TheEnd));
        let names = self.schedexts.seen().keys();
        acts.extend(names.map(|name| Act::Reconcile(name, Until::TheEnd)));
        acts
    }

    /// What ends the faults that there are.
    pub(super) fn recoveries(&self, all: &[NodeName]) -> Vec<Act> {
        let late = WATCHES.into_iter().filter(|watch| self.is_late(*watch));
        let mut acts: Vec<Act> = late.map(Act::Deliver).collect();
        for node in all {
            if self.nodes.get(node).is_none() {
                // The pods of a node that is gone are deleted long before it can come back.
                if self.pods_on(node).next().is_none() {
                    acts.push(Act::Join(node.clone()));
                }
            } else if self.is_dead(node) {
                acts.push(Act::Revive(node.clone()));
            } else if self.silent.contains(node) {
                acts.push(Act::Speak(node.clone()));
            }
        }
        acts
    }

    pub(super) fn faults(&self) -> Vec<Act> {
        if self.budget.faults == 0 {
            return Vec::new();
        }
        let stalls = WATCHES.into_iter().filter(|watch| !self.is_late(*watch));
        let mut acts: Vec<Act> = stalls.map(Act::Stall).collect();
        acts.push(Act::Restart);
        for writes in 1..MOST_WRITES {
            let until = Until::Killed(writes);
            acts.push(Act::Claim(until));
            acts.push(Act::WriteGates(until));
            let names = self.schedexts.seen().keys();
            acts.extend(names.map(|name| Act::Reconcile(name, until)));
        }
        for (node, _) in self.nodes.all().filter(|(node, _)| !self.is_dead(node)) {
            let mut acts_there = vec![
                Act::Die(node.clone()),
                Act::Reboot(node.clone()),
                Act::Vanish(node.clone()),
            ];
            if !self.silent.contains(node) {
                acts_there.push(Act::Silence(node.clone()));
            }
            acts.append(&mut acts_there);
            acts.extend(self.ejection(node, |image| !image.starts_with("stall")));
        }
        acts
    }

    /// Ejections of images that are bad.
    pub(super) fn failures(&self) -> Vec<Act> {
        if self.budget.failures == 0 {
            return Vec::new();
        }
        let nodes = self.nodes.all().filter(|(node, _)| !self.is_dead(node));
        let acts =
            nodes.filter_map(|(node, _)| self.ejection(node, |image| image.starts_with("stall")));
        acts.collect()
    }

    fn ejection(&self, node: &NodeName, is_bad: impl Fn(&str) -> bool) -> Option<Act> {
        let mut pods = self.pods_on(node);
        let is_attached = |container| {
            matches!(
                container,
                Container::Running {
                    attached: Some(_),
                    ..
                }
            )
        };
        let runs = pods.any(|(_, pod)| is_attached(pod.container) && is_bad(&pod.template.image));
        runs.then(|| Act::Eject(node.clone()))
    }

    pub(super) fn edits(&self, wishes: &Wishes) -> Vec<Act> {
        if self.budget.edits == 0 {
            return Vec::new();
        }
        let spec = |name: &'static str| self.schedexts.get(&name).map(|one| one.spec);
        let edits = wishes
            .edits
            .iter()
            .filter(|(name, to)| spec(name) != Some(*to));
        let edits = edits.map(|(name, to)| Act::Edit(name, *to));
        let removals = wishes.removals.iter().filter(|name| spec(name).is_some());
        edits
            .chain(removals.map(|name| Act::Remove(name)))
            .collect()
    }
}
