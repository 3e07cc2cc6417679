//! What the manager does: it claims nodes, reconciles SchedExts, writes gates, and may be killed
//! after any of these writes.

use std::sync::Arc;

use sked_api::label;
use sked_plan::claim::LabelWrite;
use sked_plan::version::Heard;

use super::objects::{DaemonSet, DaemonSetSpec, SchedExt};
use super::planner::{Planner, Step};
use super::state::State;

/// How many of its writes the manager makes before it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    TheEnd,
    Killed(usize),
}

impl Until {
    fn limit(self) -> usize {
        match self {
            Self::TheEnd => usize::MAX,
            Self::Killed(writes) => writes,
        }
    }
}

impl State {
    /// Computes who owns which node, publishes it, and writes the labels.
    pub(super) fn claim(&mut self, planner: &Planner, until: Until) {
        let claimed = planner.claimed(self);
        if let Some(violation) = &claimed.violation {
            self.break_law(&format!("check_claims: {violation}"));
        }
        self.claims = Some(Arc::clone(&claimed.assignments));
        for write in claimed.writes.iter().take(until.limit()) {
            self.write_label(planner, write);
        }
        self.end_round(until);
    }

    /// The patch tests the label's former value.
    fn write_label(&mut self, planner: &Planner, write: &LabelWrite) {
        let Some(node) = self.nodes.get(&write.node) else {
            return;
        };
        if node.labels.get(label::OWNER) != write.from.as_ref() {
            return;
        }
        let mut node = node.clone();
        match write.to {
            Some(owner) => node
                .labels
                .insert(label::OWNER.to_owned(), owner.to_string()),
            None => node.labels.remove(label::OWNER),
        };
        self.nodes.own_put(Heard::Update, &write.node, node);
        self.notice_label(planner, write);
    }

    /// As the controller does it: the status is written in a round that plans no other write.
    pub(super) fn reconcile(&mut self, planner: &Planner, name: &'static str, until: Until) {
        let Some(reconciled) = planner.reconciled(self, name) else {
            return self.end_round(until);
        };
        if let Some(violation) = &reconciled.violation {
            self.break_law(&format!("check_plan: {violation}"));
        }
        for step in reconciled.steps.iter().take(until.limit()) {
            self.write_step(step);
        }
        if reconciled.steps.is_empty()
            && self.schedexts.is_known(&name)
            && let Some(seen) = self.schedexts.seen_object(&name)
            && seen.record != reconciled.record
        {
            let record = reconciled.record.clone();
            let new = SchedExt {
                record,
                ..seen.clone()
            };
            self.schedexts.own_put(Heard::Update, &name, new);
        }
        self.end_round(until);
    }

    fn write_step(&mut self, step: &Step) {
        match step {
            Step::Create(spec) => {
                let name = &spec.live.key.name;
                if self.daemonsets.get(name).is_none() {
                    let new = self.new_daemonset(spec);
                    self.daemonsets.own_put(Heard::New, name, new);
                }
            }
            Step::Replace(uid, spec) => {
                let name = &spec.live.key.name;
                let live = self.daemonsets.get(name).filter(|live| live.uid == *uid);
                if let Some(live) = live {
                    let spec = Arc::clone(spec);
                    let is_observed = live.is_observed && live.spec == spec;
                    let new = DaemonSet {
                        spec,
                        is_observed,
                        ..live.clone()
                    };
                    self.daemonsets.own_put(Heard::Update, name, new);
                }
            }
            Step::Delete(uid) => {
                let mut all = self.daemonsets.all();
                let name = all.find_map(|(name, one)| (one.uid == *uid).then(|| name.clone()));
                drop(all);
                if let Some(name) = name {
                    self.daemonsets.own_remove(&name);
                }
            }
        }
    }

    fn new_daemonset(&self, spec: &Arc<DaemonSetSpec>) -> DaemonSet {
        DaemonSet {
            uid: self.free_daemonset_uid(),
            spec: Arc::clone(spec),
            is_observed: false,
            desired: 0,
            updated: 0,
            ready: 0,
        }
    }

    /// Writes the gates of all pods. The patch names the pod's uid, and no version.
    pub(super) fn write_gates(&mut self, planner: &Planner, until: Until) {
        let seen = self.pods.seen().iter();
        let writes =
            seen.filter_map(|(uid, one)| Some((*uid, planner.gate(self, *uid, &one.object)?)));
        let writes: Vec<_> = writes.take(until.limit()).collect();
        for (uid, (attached, reason)) in writes {
            if let Some(pod) = self.pods.get(&uid) {
                let mut pod = pod.clone();
                pod.gate = Some((attached, reason, 0));
                self.pods.own_put(Heard::Update, &uid, pod);
            }
        }
        self.end_round(until);
    }

    fn end_round(&mut self, until: Until) {
        if until != Until::TheEnd {
            self.restart();
        }
    }

    /// A new manager lists everything, and has no claims yet.
    pub(super) fn restart(&mut self) {
        self.claims = None;
        self.schedexts.list();
        self.nodes.list();
        self.daemonsets.list();
        self.pods.list();
        self.reports.list();
    }
}
