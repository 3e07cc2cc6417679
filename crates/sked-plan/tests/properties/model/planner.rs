//! The real claims, plans, statuses, gates and checks, asked with what the manager's stores have.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use sked_api::SchedExtSpec;
use sked_plan::assignment::Assignments;
use sked_plan::check::{check_claims, check_plan};
use sked_plan::claim::{LabelWrite, claim};
use sked_plan::eligibility::Eligibility;
use sked_plan::kernel_state::{KernelState, UnknownReason, kernel_state};
use sked_plan::learned_names::LearnedNames;
use sked_plan::node_state::{gate_update, node_state};
use sked_plan::observed::Fleet;
use sked_plan::plan::{Outcome, PlanStep, plan};
use sked_plan::revision::revision;
use sked_plan::rollout::are_claims_current;
use sked_plan::status::{due, status};
use sked_plan::{Node, NodeName, Observed, Uid};

use super::dated::record_of;
use super::memo::Memo;
use super::objects::{DaemonSet, DaemonSetSpec, Pod, Record, SchedExt};
use super::rendered::{daemonset_spec, schedext};
use super::state::State;
use super::times::{now, seconds};
use crate::kube::{Verdict, verdict};

/// The planner, and what it has answered so far.
#[derive(Debug, Default)]
pub(super) struct Planner {
    /// What users write.
    pub(super) specs: Vec<SchedExtSpec>,
    /// Their revisions.
    pub(super) revisions: Vec<String>,
    schedexts: Memo<Arc<sked_api::SchedExt>>,
    claimed: Memo<Arc<Claimed>>,
    reconciled: Memo<Arc<Reconciled>>,
    gates: Memo<Option<(bool, &'static str)>>,
    verdicts: Memo<Verdict>,
}

#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) assignments: Arc<Assignments>,
    pub(super) writes: Vec<LabelWrite>,
    pub(super) violation: Option<String>,
}

#[derive(Debug)]
pub(super) struct Reconciled {
    pub(super) steps: Vec<Step>,
    pub(super) record: Record,
    pub(super) violation: Option<String>,
    /// In how many seconds the SchedExt must be reconciled although nothing changes.
    pub(super) due: Option<i64>,
}

#[derive(Debug)]
pub(super) enum Step {
    Create(Arc<DaemonSetSpec>),
    Replace(u32, Arc<DaemonSetSpec>),
    Delete(u32),
}

impl Planner {
    pub(super) fn new(specs: Vec<SchedExtSpec>) -> Self {
        let real = |spec: &SchedExtSpec| sked_api::SchedExt::new("a", spec.clone());
        Self {
            revisions: specs.iter().map(|spec| revision(&real(spec))).collect(),
            specs,
            ..Self::default()
        }
    }

    pub(super) fn claimed(&self, state: &State) -> Arc<Claimed> {
        let kernels: Vec<_> = state.nodes.seen().keys().collect();
        let is_known =
            |node: &&&NodeName| !matches!(self.kernel(state, node), KernelState::Unknown(_));
        let known: Vec<_> = kernels.iter().filter(is_known).copied().collect();
        let schedexts = state.schedexts.seen().values();
        let schedexts: Vec<SchedExt> = schedexts.map(|one| one.object.for_claims()).collect();
        let daemonsets = state.daemonsets.seen().values();
        let daemonsets: Vec<DaemonSet> = daemonsets.map(|one| one.object.for_claims()).collect();
        let nodes: Vec<&Arc<Node>> = state.nodes.seen().values().map(|one| &one.object).collect();
        let pods = state.pods.seen().iter();
        let pods: Vec<(u32, Pod)> = pods
            .map(|(uid, one)| (*uid, one.object.for_claims()))
            .collect();
        let input = (&schedexts, &daemonsets, &nodes, &pods, &known);
        self.claimed.get(&input, || {
            let fleet = Fleet {
                schedexts: schedexts.iter().map(|one| self.schedext(one)).collect(),
                unreadable: Vec::new(),
                nodes: nodes.iter().map(|one| Arc::clone(one)).collect(),
                daemonsets: daemonsets.iter().map(|one| Arc::new(one.live())).collect(),
                pods: pods
                    .iter()
                    .map(|(uid, one)| Arc::new(one.live(*uid)))
                    .collect(),
                eligibility: known
                    .iter()
                    .map(|node| ((*node).clone(), Eligibility::Eligible))
                    .collect(),
            };
            let claims = claim(&fleet);
            let violations = check_claims(&fleet, &claims);
            Arc::new(Claimed {
                violation: violations.first().map(ToString::to_string),
                assignments: Arc::new(claims.assignments),
                writes: claims.writes,
            })
        })
    }

    /// `None` if the claims have not read the spec and the record that the manager knows: then it
    /// does nothing.
    pub(super) fn reconciled(&self, state: &State, name: &'static str) -> Option<Arc<Reconciled>> {
        let seen = state.schedexts.seen_object(&name)?;
        let real = self.schedext(seen);
        let assignment = state.claims.as_ref()?.get(&Uid(format!("uid-of-{name}")))?;
        if !are_claims_current(&real, assignment) {
            return None;
        }
        let daemonsets = state.daemonsets.seen().values();
        let daemonsets: Vec<&DaemonSet> = daemonsets
            .map(|one| &*one.object)
            .filter(|one| one.spec.live.controller == real.metadata.uid.clone().map(Uid))
            .collect();
        let pods = state
            .pods
            .seen()
            .iter()
            .map(|(uid, one)| (*uid, &*one.object));
        let pods: Vec<(u32, &Pod)> = pods
            .filter(|(_, pod)| daemonsets.iter().any(|one| one.uid == pod.daemonset))
            .collect();
        let kernels = pods
            .iter()
            .map(|(_, pod)| (pod.node.clone(), self.kernel(state, &pod.node)));
        let kernels: BTreeMap<NodeName, KernelState> = kernels.collect();
        let dead: BTreeMap<NodeName, Timestamp> = dead(state, &daemonsets, &pods);
        let input = (seen, &daemonsets, &pods, &dead, &kernels, assignment);
        Some(self.reconciled.get(&input, || {
            let observed = Observed {
                schedext: real,
                daemonsets: daemonsets.iter().map(|one| Arc::new(one.live())).collect(),
                pods: pods
                    .iter()
                    .map(|(uid, pod)| Arc::new(pod.live(*uid)))
                    .collect(),
                kernels: kernels.clone(),
                unreachable: dead.clone(),
                assignment: Arc::clone(assignment),
                architectures: BTreeMap::new(),
                owner_labels: BTreeMap::new(),
                unenforced_policies: Vec::new(),
                port_holders: BTreeMap::new(),
                kernel_gaps: BTreeMap::new(),
                facts: BTreeMap::new(),
                releases: BTreeMap::new(),
                verification: Default::default(),
                futile: BTreeMap::new(),
                failed_creates: Vec::new(),
                now: now(),
            };
            Arc::new(reconcile(&observed))
        }))
    }

    /// How the gate of a pod must be written, if it must.
    pub(super) fn gate(&self, state: &State, uid: u32, pod: &Pod) -> Option<(bool, &'static str)> {
        let daemonsets = state.daemonsets.seen().values();
        let mut daemonsets = daemonsets.map(|one| &one.object);
        let daemonset = daemonsets.find(|one| one.uid == pod.daemonset)?;
        let mut schedexts = state.schedexts.seen().values().map(|one| &one.object);
        let schedext = schedexts.find(|one| {
            Some(Uid(format!("uid-of-{}", one.name))) == daemonset.spec.live.controller
        })?;
        let kernel = self.kernel(state, &pod.node);
        self.gates
            .get(&(uid, pod, schedext, daemonset, &kernel), || {
                let mut names = LearnedNames::default();
                names.add(&self.schedext(schedext), std::iter::once(&daemonset.live()));
                let live = pod.live(uid);
                let update = gate_update(&live, &node_state(&live, &kernel, names.of(&live)))?;
                Some((update.attached, update.reason))
            })
    }

    fn kernel(&self, state: &State, node: &NodeName) -> KernelState {
        let Some(known) = state.nodes.seen_object(node) else {
            return KernelState::Unknown(UnknownReason::NoReport);
        };
        let report = state
            .reports
            .seen_object(node)
            .map(super::objects::Report::read);
        let is_ready = !state.silent.contains(node) && !state.is_dead(node);
        kernel_state(known, report.as_ref(), is_ready)
    }

    /// What the DaemonSet controller does on a node. Pods of DaemonSets tolerate that it is dead.
    pub(super) fn verdict(&self, daemonset: &DaemonSet, node: &Node) -> Verdict {
        self.verdicts.get(&(&daemonset.spec, &node.labels), || {
            let mut node = node.clone();
            node.taints.clear();
            verdict(&daemonset.spec.value, &node)
        })
    }

    pub(super) fn schedext(&self, object: &SchedExt) -> Arc<sked_api::SchedExt> {
        self.schedexts.get(object, || {
            Arc::new(schedext(object, &self.specs[object.spec]))
        })
    }

    /// How many different questions it has answered.
    pub(super) fn answers(&self) -> usize {
        self.claimed.len() + self.reconciled.len()
    }
}

/// The nodes of these pods that Kubernetes takes for dead, where their DaemonSets want them.
fn dead(
    state: &State,
    daemonsets: &[&DaemonSet],
    pods: &[(u32, &Pod)],
) -> BTreeMap<NodeName, Timestamp> {
    let dead = pods.iter().filter_map(|(_, pod)| {
        let node = state.nodes.seen_object(&pod.node)?;
        let mut taints = node.taints.iter();
        let taint = taints.find_map(|taint| taint.time_added.as_ref())?;
        let mut daemonsets = daemonsets.iter();
        let daemonset = daemonsets.find(|one| one.uid == pod.daemonset)?;
        let is_wanted = daemonset.live().admits(node);
        is_wanted.then(|| (node.name.clone(), taint.0))
    });
    dead.collect()
}

fn reconcile(observed: &Observed) -> Reconciled {
    let plan = plan(observed);
    let violations = check_plan(observed, &plan);
    let before = observed.schedext.status.clone().unwrap_or_default();
    // A round that writes DaemonSets writes no status.
    let status = match plan.steps.is_empty() {
        true => status(observed, &plan, &Outcome::default()),
        false => before,
    };
    let steps = plan.steps.iter().filter_map(|step| match step {
        PlanStep::Create(desired) => Some(Step::Create(daemonset_spec(desired))),
        PlanStep::Replace { desired, uid } => {
            Some(Step::Replace(number(uid), daemonset_spec(desired)))
        }
        PlanStep::Delete { key: _, uid } => Some(Step::Delete(number(uid))),
        // The DaemonSet controller of the model needs no reminder.
        PlanStep::Touch { .. } => None,
    });
    Reconciled {
        steps: steps.collect(),
        record: Record::new(record_of(status)),
        violation: violations.first().map(ToString::to_string),
        due: due(observed).map(seconds),
    }
}

fn number(uid: &Uid) -> u32 {
    uid.0.trim_start_matches("ds-").parse().unwrap()
}
