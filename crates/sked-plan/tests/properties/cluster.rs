//! A simulated cluster: it accepts writes, and its DaemonSet controller, scheduler and garbage
//! collector run when a test calls them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use sked_api::SchedExt;
use sked_plan::check::{check_claims, check_plan};
use sked_plan::claim::{Claims, LabelWrite, claim};
use sked_plan::daemonset::overlay;
use sked_plan::eligibility::Eligibility;
use sked_plan::live_pod::PodState;
use sked_plan::plan::{Plan, PlanStep, plan};
use sked_plan::{Fleet, LiveDaemonSet, LivePod, Node, NodeName, ObjectKey, Observed, Uid};

use crate::filled_in::filled_in;
use crate::kube::{Verdict, verdict, write_label};

#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) schedexts: Vec<SchedExt>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) daemonsets: Vec<Value>,
    pub(crate) pods: Vec<LivePod>,
    /// As after debouncing.
    pub(crate) eligibility: BTreeMap<NodeName, Eligibility>,
    pub(crate) born: u64,
}

/// A write of sked's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    Label(LabelWrite),
    PlanStep(PlanStep),
}

impl Cluster {
    pub(crate) fn fleet(&self) -> Fleet {
        let live = |one: &Value| Arc::new(LiveDaemonSet::read(one).unwrap());
        Fleet {
            unreadable: Vec::new(),
            schedexts: self.schedexts.iter().cloned().map(Arc::new).collect(),
            nodes: self.nodes.iter().cloned().map(Arc::new).collect(),
            daemonsets: self.daemonsets.iter().map(live).collect(),
            pods: self.pods.iter().cloned().map(Arc::new).collect(),
            eligibility: self.eligibility.clone(),
        }
    }

    pub(crate) fn observed(&self, schedext: &SchedExt, claims: &Claims) -> Observed {
        Self::observed_in(self.fleet(), schedext, claims)
    }

    fn observed_in(fleet: Fleet, schedext: &SchedExt, claims: &Claims) -> Observed {
        let uid = Uid(schedext.metadata.uid.clone().unwrap());
        let ours = |pod: &Arc<LivePod>| {
            let mut all = fleet.daemonsets.iter();
            all.any(|one| one.uid == pod.daemonset && one.controller.as_ref() == Some(&uid))
        };
        Observed {
            schedext: Arc::new(schedext.clone()),
            pods: fleet.pods.iter().filter(|pod| ours(pod)).cloned().collect(),
            assignment: claims.assignments.get(&uid).cloned().unwrap_or_default(),
            kernels: BTreeMap::new(),
            facts: BTreeMap::new(),
            owner_labels: BTreeMap::new(),
            unreachable: BTreeMap::new(),
            unenforced_policies: Vec::new(),
            kernel_gaps: BTreeMap::new(),
            port_holders: BTreeMap::new(),
            architectures: BTreeMap::new(),
            releases: BTreeMap::new(),
            verification: Default::default(),
            futile: BTreeMap::new(),
            failed_creates: Vec::new(),
            now: Timestamp::from_second(1_700_000_000).unwrap(),
            daemonsets: fleet.daemonsets,
        }
    }

    /// Claims, plans and checks: everything that sked would write now.
    pub(crate) fn work(&self) -> Vec<Work> {
        let fleet = self.fleet();
        let claims = claim(&fleet);
        assert_eq!(check_claims(&fleet, &claims), vec![], "{self:#?}");
        let mut work: Vec<Work> = claims.writes.iter().cloned().map(Work::Label).collect();
        for schedext in &self.schedexts {
            let plan = self.plan_in(fleet.clone(), schedext, &claims);
            work.extend(plan.steps.into_iter().map(Work::PlanStep));
        }
        work
    }

    pub(crate) fn plan_for(&self, schedext: &SchedExt, claims: &Claims) -> Plan {
        self.plan_in(self.fleet(), schedext, claims)
    }

    fn plan_in(&self, fleet: Fleet, schedext: &SchedExt, claims: &Claims) -> Plan {
        let observed = Self::observed_in(fleet, schedext, claims);
        let plan = plan(&observed);
        assert_eq!(check_plan(&observed, &plan), vec![], "{self:#?}");
        plan
    }

    pub(crate) fn write(&mut self, work: &Work) {
        match work {
            Work::Label(write) => write_label(&mut self.nodes, write),
            Work::PlanStep(PlanStep::Create(desired)) => {
                self.create(serde_json::to_value(desired).unwrap());
            }
            Work::PlanStep(PlanStep::Replace { desired, uid }) => {
                let live = self
                    .daemonsets
                    .iter_mut()
                    .find(|one| one["metadata"]["uid"] == uid.0);
                if let Some(live) = live {
                    let old = serde_json::from_value(live.clone()).unwrap();
                    *live = filled_in(serde_json::to_value(overlay(old, desired)).unwrap());
                }
            }
            Work::PlanStep(PlanStep::Touch { .. }) => {}
            Work::PlanStep(PlanStep::Delete { uid, .. }) => {
                self.daemonsets
                    .retain(|one| one["metadata"]["uid"] != uid.0);
            }
        }
    }

    pub(crate) fn create(&mut self, mut daemonset: Value) {
        let same = |one: &Value, key: &str| one["metadata"][key] == daemonset["metadata"][key];
        if self
            .daemonsets
            .iter()
            .any(|one| same(one, "name") && same(one, "namespace"))
        {
            return;
        }
        self.born += 1;
        daemonset["metadata"]["uid"] = json!(format!("ds-{}", self.born));
        daemonset["metadata"]["resourceVersion"] = json!("1");
        self.daemonsets.push(filled_in(daemonset));
    }

    /// The garbage collector.
    pub(crate) fn collect(&mut self) {
        let alive = |one: &SchedExt| one.metadata.deletion_timestamp.is_none();
        self.schedexts.retain(alive);
        let uids: Vec<_> = self
            .schedexts
            .iter()
            .map(|one| json!(one.metadata.uid))
            .collect();
        self.daemonsets.retain(|one| {
            let owner = &one["metadata"]["ownerReferences"][0]["uid"];
            owner.is_null() || uids.contains(owner)
        });
    }

    /// The DaemonSet controller, the scheduler and kubelets: pods are placed, and each node runs one.
    pub(crate) fn run_pods(&mut self) {
        let Self {
            nodes,
            daemonsets,
            pods,
            ..
        } = self;
        let of = |uid: &Uid| {
            daemonsets
                .iter()
                .find(|one| one["metadata"]["uid"] == uid.0)
        };
        pods.retain(|pod| {
            let node = nodes
                .iter()
                .find(|node| Some(&node.name) == pod.node.as_ref());
            match (of(&pod.daemonset), node) {
                (Some(daemonset), Some(node)) => verdict(daemonset, node) != Verdict::Leave,
                _ => false,
            }
        });
        for daemonset in daemonsets.iter() {
            for node in nodes
                .iter()
                .filter(|node| verdict(daemonset, node) == Verdict::Run)
            {
                let uid = Uid(daemonset["metadata"]["uid"].as_str().unwrap().to_owned());
                let here = |pod: &LivePod| pod.node.as_ref() == Some(&node.name);
                if !pods.iter().any(|pod| here(pod) && pod.daemonset == uid) {
                    pods.push(pod(daemonset, &node.name, uid));
                }
            }
        }
        for at in 0..pods.len() {
            let there = |pod: &LivePod| pod.node == pods[at].node && pod.state == PodState::Running;
            if !pods.iter().any(there) {
                pods[at].state = PodState::Running;
            }
        }
    }

    /// DaemonSets that would create a pod on the node as it is.
    pub(crate) fn takers(&self, node: &Node) -> Vec<String> {
        let takes = |one: &&Value| verdict(one, node) == Verdict::Run;
        let name = |one: &Value| one["metadata"]["name"].as_str().unwrap().to_owned();
        self.daemonsets.iter().filter(takes).map(name).collect()
    }

    /// Executes all writes until there are no more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            self.collect();
            let work = self.work();
            if work.is_empty() {
                return;
            }
            work.iter().for_each(|one| self.write(one));
            self.run_pods();
        }
        panic!("does not settle: {:?}", self.work());
    }
}

fn pod(daemonset: &Value, node: &NodeName, uid: Uid) -> LivePod {
    LivePod {
        key: ObjectKey {
            namespace: "default".to_owned(),
            name: format!("{}-{node}", daemonset["metadata"]["name"].as_str().unwrap()),
        },
        daemonset: uid,
        node: Some(node.clone()),
        deleting: false,
        uid: Uid(format!("pod-of-{node}")),
        state: PodState::Unscheduled(None),
        started: None,
        last_exit: None,
        gate: None,
        template: String::new(),
        revision: String::new(),
        restarts: 0,
        created: Timestamp::UNIX_EPOCH,
    }
}
