//! The manager: claims, plans, checks, writes, gates and statuses, as the controller does them.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::DaemonSet;
use serde_json::{Value, json};
use sked_api::{SchedExt, SchedExtStatus};
use sked_plan::check::{check_claims, check_plan};
use sked_plan::claim::{LabelWrite, claim};
use sked_plan::daemonset::overlay;
use sked_plan::eligibility::Eligibility;
use sked_plan::kernel_state::{KernelState, UnknownReason};
use sked_plan::live_pod::{Gate, PodState};
use sked_plan::node_state::{gate_update, node_state};
use sked_plan::part::uid;
use sked_plan::plan::{Outcome, Plan, PlanStep, plan};
use sked_plan::status::{due, events, status};
use sked_plan::{Fleet, LiveDaemonSet, LivePod, NodeName, ObjectKey, Observed, Uid};

use super::world::{Container, Pod, World, shared};
use crate::filled_in::filled_in;
use crate::kube::write_label;

/// A write of the manager's.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Label(LabelWrite),
    Step(PlanStep),
    Status(Uid, i64, Box<SchedExtStatus>),
    Gate(Uid, Gate),
}

impl World {
    /// A whole round without faults. The claims that SchedExts are reconciled with are those of the
    /// round before, as in the manager: what is written wakes the claims, and they wake the rest.
    pub(crate) fn manager(&mut self) {
        for schedext in self.schedexts.clone() {
            let writes = self.reconcile(&uid(&schedext));
            writes.into_iter().for_each(|write| self.write(write));
        }
        for write in self.gates() {
            self.write(write);
        }
        for write in self.label_writes() {
            self.write(write);
        }
        self.claim();
    }

    /// Whether a SchedExt must be reconciled although nothing changed.
    pub(crate) fn is_due(&self) -> bool {
        let mut observed = self
            .schedexts
            .iter()
            .filter_map(|one| self.observed(&uid(one)));
        observed.any(|mut observed| {
            observed.now = self.now - jiff::SignedDuration::from_secs(1);
            due(&observed).is_some_and(|due| due <= self.now)
        })
    }

    pub(crate) fn fleet(&self) -> Fleet {
        let known = self
            .nodes
            .iter()
            .filter(|node| !self.unreported.contains(&node.name));
        Fleet {
            schedexts: shared(&self.schedexts),
            unreadable: Vec::new(),
            nodes: shared(&self.nodes),
            daemonsets: self.live_daemonsets(),
            pods: self
                .pods
                .iter()
                .map(|pod| Arc::new(live_pod(pod)))
                .collect(),
            eligibility: known
                .map(|node| (node.name.clone(), Eligibility::Eligible))
                .collect(),
        }
    }

    /// Computes who owns which node.
    pub(crate) fn claim(&mut self) {
        let fleet = self.fleet();
        let claims = claim(&fleet);
        assert_eq!(check_claims(&fleet, &claims), vec![], "{}", self.report());
        self.assignments = claims.assignments;
    }

    pub(crate) fn label_writes(&self) -> Vec<Write> {
        let claims = claim(&self.fleet());
        claims.writes.into_iter().map(Write::Label).collect()
    }

    /// What the manager writes for one SchedExt: its DaemonSets, then its status.
    pub(crate) fn reconcile(&mut self, uid: &Uid) -> Vec<Write> {
        let Some(observed) = self.observed(uid) else {
            return Vec::new();
        };
        let plan: Plan = plan(&observed);
        assert_eq!(check_plan(&observed, &plan), vec![], "{}", self.report());
        let new = status(&observed, &plan, &Outcome::default());
        let old = observed.schedext.status.as_ref();
        let said = events(old, &new);
        let said = said
            .into_iter()
            .map(|event| format!("{} {}", event.reason, event.message));
        let now = self.now;
        self.events.extend(said.map(|text| (now, text)));
        let mut writes: Vec<Write> = plan.steps.into_iter().map(Write::Step).collect();
        if old != Some(&new) {
            let generation = observed.schedext.metadata.generation.unwrap();
            writes.push(Write::Status(uid.clone(), generation, Box::new(new)));
        }
        writes
    }

    pub(crate) fn observed(&self, of: &Uid) -> Option<Observed> {
        let schedext = self.schedexts.iter().find(|one| uid(one) == *of)?;
        let daemonsets = self.live_daemonsets();
        let own: Vec<Uid> = daemonsets
            .iter()
            .filter(|live| live.controller.as_ref() == Some(of))
            .map(|live| live.uid.clone())
            .collect();
        let pods = self.pods.iter().filter(|pod| own.contains(&pod.daemonset));
        let nodes: Vec<NodeName> = pods.clone().map(|pod| pod.node.clone()).collect();
        let is_wanted = |pod: &Pod| {
            let mut daemonsets = daemonsets.iter();
            let daemonset = daemonsets.find(|live| live.uid == pod.daemonset);
            let node = self.node(&pod.node);
            daemonset
                .zip(node)
                .is_some_and(|(live, node)| live.admits(node))
        };
        let dead = pods.clone().filter(|pod| self.dead.contains(&pod.node));
        let unreachable: Vec<_> = dead
            .filter(|pod| is_wanted(pod))
            .map(|pod| &pod.node)
            .collect();
        Some(Observed {
            schedext: Arc::new(SchedExt::clone(schedext)),
            pods: pods.map(|pod| Arc::new(live_pod(pod))).collect(),
            kernels: nodes
                .iter()
                .map(|node| (node.clone(), self.reported(node)))
                .collect(),
            unreachable: unreachable
                .into_iter()
                .map(|node| (node.clone(), self.dead_since(node)))
                .collect(),
            assignment: self.assignments.get(of)?.clone(),
            daemonsets,
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
            now: self.now,
        })
    }

    fn reported(&self, node: &NodeName) -> KernelState {
        match self.unreported.contains(node) || self.dead.contains(node) {
            true => KernelState::Unknown(UnknownReason::NoAgent),
            false => self.kernel(node),
        }
    }

    fn dead_since(&self, node: &NodeName) -> jiff::Timestamp {
        let node = self.node(node).unwrap();
        let mut taints = node
            .taints
            .iter()
            .filter_map(|taint| taint.time_added.as_ref());
        taints.next().map_or(self.now, |time| time.0)
    }

    pub(crate) fn gates(&self) -> Vec<Write> {
        let pods = self.pods.iter().filter_map(|pod| {
            let live = live_pod(pod);
            let state = node_state(&live, &self.reported(&pod.node), None);
            let update = gate_update(&live, &state)?;
            let gate = Gate {
                attached: update.attached,
                reason: update.reason.to_owned(),
                since: self.now,
            };
            Some(Write::Gate(pod.uid.clone(), gate))
        });
        pods.collect()
    }

    pub(crate) fn write(&mut self, write: Write) {
        match write {
            Write::Label(write) => write_label(&mut self.nodes, &write),
            Write::Step(step) => self.write_step(step),
            Write::Status(of, generation, new) => {
                let mut all = self.schedexts.iter_mut();
                // The API server rejects a write that is based on an older version.
                let same = |one: &&mut SchedExt| {
                    uid(one) == of && one.metadata.generation == Some(generation)
                };
                if let Some(one) = all.find(same) {
                    one.status = Some(*new);
                }
            }
            Write::Gate(of, gate) => {
                if let Some(pod) = self.pods.iter_mut().find(|pod| pod.uid == of) {
                    pod.gate = Some(gate);
                }
            }
        }
    }

    fn write_step(&mut self, step: PlanStep) {
        match step {
            PlanStep::Create(desired) => {
                let mut desired = serde_json::to_value(desired).unwrap();
                let name = desired["metadata"]["name"].clone();
                if self
                    .daemonsets
                    .iter()
                    .any(|one| one["metadata"]["name"] == name)
                {
                    return;
                }
                self.born += 1;
                desired["metadata"]["uid"] = json!(format!("ds-{}", self.born));
                desired["metadata"]["resourceVersion"] = json!("1");
                desired["metadata"]["generation"] = json!(1);
                self.daemonsets.push(filled_in(desired));
            }
            PlanStep::Replace { desired, uid } => {
                let mut live = self.daemonsets.iter_mut();
                if let Some(live) = live.find(|one| one["metadata"]["uid"] == uid.0) {
                    let mut old: DaemonSet = serde_json::from_value(live.clone()).unwrap();
                    *old.metadata.generation.as_mut().unwrap() += 1;
                    *live = filled_in(serde_json::to_value(overlay(old, &desired)).unwrap());
                }
            }
            PlanStep::Touch { .. } => {}
            PlanStep::Delete { uid, .. } => {
                self.daemonsets
                    .retain(|one| one["metadata"]["uid"] != uid.0);
            }
        }
    }

    fn live_daemonsets(&self) -> Vec<Arc<LiveDaemonSet>> {
        let read = |one: &Value| Arc::new(LiveDaemonSet::read(one).unwrap());
        self.daemonsets.iter().map(read).collect()
    }
}

fn live_pod(pod: &Pod) -> LivePod {
    let state = match &pod.container {
        Container::None => PodState::Unscheduled(None),
        Container::Running { .. } => PodState::Running,
        Container::Ended { .. } => PodState::Ended,
        Container::CannotStart => PodState::Waiting {
            reason: "ErrImagePull".to_owned(),
            message: "not found".to_owned(),
        },
    };
    LivePod {
        key: ObjectKey {
            namespace: "default".to_owned(),
            name: pod.uid.0.clone(),
        },
        daemonset: pod.daemonset.clone(),
        node: Some(pod.node.clone()),
        deleting: pod.ends_at.is_some(),
        uid: pod.uid.clone(),
        started: match pod.container {
            Container::Running { started, .. } => Some(started),
            _ => None,
        },
        state,
        last_exit: pod.last_exit.clone(),
        restarts: pod.restarts,
        gate: pod.gate.clone(),
        template: pod.template.clone(),
        revision: pod.revision.clone(),
        created: pod.created,
    }
}
