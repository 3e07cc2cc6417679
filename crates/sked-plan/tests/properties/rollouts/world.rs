//! The state of the simulated cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sked_api::{RolloutPhase, SchedExt, SchedExtStatus};
use sked_plan::assignment::Assignments;
use sked_plan::kernel_state::KernelState;
use sked_plan::live_pod::{ContainerExit, Gate};
use sked_plan::{Node, NodeName, Uid};

/// In milliseconds: the kernel's times are no whole seconds.
pub(crate) const START: i64 = 1_700_000_000_400;

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) schedexts: Vec<SchedExt>,
    pub(crate) nodes: Vec<Node>,
    /// Nodes whose kubelet does not answer.
    pub(crate) dead: BTreeSet<NodeName>,
    /// Nodes that nobody reports about.
    pub(crate) unreported: BTreeSet<NodeName>,
    pub(crate) daemonsets: Vec<Value>,
    pub(crate) pods: Vec<Pod>,
    /// The claims that the manager computed last.
    pub(crate) assignments: Assignments,
    /// What every event said, for messages.
    pub(crate) events: Vec<(Timestamp, String)>,
    /// On these nodes only, `fails-there` images fail.
    pub(crate) failing: BTreeSet<NodeName>,
    /// Images that the registry does not have any more.
    pub(crate) missing: BTreeSet<String>,
    pub(crate) born: u64,
    pub(crate) laws: Laws,
    /// What the manager saw last.
    seen: Option<Box<Seen>>,
}

/// What wakes the manager when it changes.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    schedexts: Vec<SchedExt>,
    nodes: Vec<Node>,
    dead: BTreeSet<NodeName>,
    unreported: BTreeSet<NodeName>,
    daemonsets: Vec<Value>,
    pods: Vec<Pod>,
    assignments: Assignments,
}

/// A pod, its container and what its kernel does with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pod {
    pub(crate) uid: Uid,
    pub(crate) daemonset: Uid,
    pub(crate) node: NodeName,
    pub(crate) image: String,
    pub(crate) revision: String,
    /// A hash of its template.
    pub(crate) template: String,
    pub(crate) created: Timestamp,
    pub(crate) container: Container,
    pub(crate) restarts: i32,
    pub(crate) last_exit: Option<ContainerExit>,
    pub(crate) gate: Option<Gate>,
    /// When it is gone, if it is being deleted.
    pub(crate) ends_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Container {
    /// The pod waits for its node.
    None,
    Running {
        started: Timestamp,
        /// Since when the kernel runs its scheduler.
        attached: Option<Timestamp>,
    },
    /// Until it is restarted.
    Ended {
        until: Timestamp,
    },
    CannotStart,
}

/// What `laws` remembers from second to second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laws {
    /// Where each image has had a container.
    pub(super) reached: BTreeMap<String, BTreeSet<NodeName>>,
    /// Nodes that lost a scheduler which the kernel ran, because its pod was deleted, by SchedExt.
    pub(super) taken: BTreeMap<Uid, BTreeSet<NodeName>>,
    /// Pods that were there a second ago, and whether the kernel ran their scheduler.
    pub(super) before: BTreeMap<Uid, (Uid, NodeName, bool)>,
    /// Where a user took nodes away, the budget says nothing.
    pub(crate) ignores_budget: bool,
}

impl World {
    pub(crate) fn new(nodes: usize) -> Self {
        let node = |number: usize| Node {
            name: format!("node{number}").into(),
            uid: Uid(format!("uid-of-node{number}")),
            boot_id: "boot-1".to_owned(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
        };
        Self {
            now: Timestamp::from_millisecond(START).unwrap(),
            schedexts: Vec::new(),
            nodes: (1..=nodes).map(node).collect(),
            dead: BTreeSet::new(),
            unreported: BTreeSet::new(),
            daemonsets: Vec::new(),
            pods: Vec::new(),
            assignments: Assignments::new(),
            events: Vec::new(),
            failing: BTreeSet::new(),
            missing: BTreeSet::new(),
            born: 0,
            laws: Laws::default(),
            seen: None,
        }
    }

    fn seen(&self) -> Option<Box<Seen>> {
        Some(Box::new(Seen {
            schedexts: self.schedexts.clone(),
            nodes: self.nodes.clone(),
            dead: self.dead.clone(),
            unreported: self.unreported.clone(),
            daemonsets: self.daemonsets.clone(),
            pods: self.pods.clone(),
            assignments: self.assignments.clone(),
        }))
    }

    pub(crate) fn add(&mut self, name: &str, spec: &Value) {
        self.born += 1;
        let created = self.now.to_string();
        let schedext = json!({
            "apiVersion": "sked.schedkit.io/v1",
            "kind": "SchedExt",
            "metadata": {"name": name, "namespace": "default", "uid": format!("uid-of-{name}"),
                "generation": 1, "creationTimestamp": created},
            "spec": spec,
        });
        self.schedexts
            .push(serde_json::from_value(schedext).unwrap());
    }

    /// The user changes fields of the spec.
    pub(crate) fn edit(&mut self, name: &str, change: &Value) {
        let schedext = self.schedext_mut(name);
        let mut spec = serde_json::to_value(&schedext.spec).unwrap();
        for (field, value) in change.as_object().unwrap() {
            spec[field] = value.clone();
        }
        schedext.spec = serde_json::from_value(spec).unwrap();
        *schedext.metadata.generation.as_mut().unwrap() += 1;
    }

    pub(crate) fn request(&mut self, name: &str, request: &str) {
        let annotations = &mut self.schedext_mut(name).metadata.annotations;
        let annotations = annotations.get_or_insert_default();
        annotations.insert("sked.schedkit.io/request".to_owned(), request.to_owned());
    }

    pub(crate) fn schedext_mut(&mut self, name: &str) -> &mut SchedExt {
        let mut all = self.schedexts.iter_mut();
        all.find(|one| one.metadata.name.as_deref() == Some(name))
            .unwrap()
    }

    pub(crate) fn status(&self, name: &str) -> SchedExtStatus {
        let mut all = self.schedexts.iter();
        let one = all.find(|one| one.metadata.name.as_deref() == Some(name));
        one.unwrap().status.clone().unwrap_or_default()
    }

    pub(crate) fn phase(&self, name: &str) -> Option<RolloutPhase> {
        self.status(name).rollout.map(|rollout| rollout.phase)
    }

    /// The image that the kernel of each node runs; `-` for none.
    pub(crate) fn attached(&self) -> Vec<String> {
        let on = |node: &Node| {
            let mut pods = self.pods.iter().filter(|pod| pod.node == node.name);
            let pod = pods.find(|pod| pod.attached().is_some());
            pod.map_or("-".to_owned(), |pod| pod.image.clone())
        };
        self.nodes.iter().map(on).collect()
    }

    pub(crate) fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == *name)
    }

    pub(crate) fn daemonset(&self, uid: &Uid) -> Option<&Value> {
        let mut all = self.daemonsets.iter();
        all.find(|one| one["metadata"]["uid"] == uid.0)
    }

    pub(crate) fn kernel(&self, node: &NodeName) -> KernelState {
        let mut pods = self.pods.iter().filter(|pod| pod.node == *node);
        match pods.find_map(|pod| Some((pod.attached()?, pod))) {
            Some((since, pod)) => KernelState::Enabled {
                ops: ops(&pod.image).parse().unwrap(),
                since,
            },
            None => KernelState::Disabled,
        }
    }

    pub(crate) fn after(&self, seconds: i64) -> Timestamp {
        self.now + SignedDuration::from_secs(seconds)
    }

    /// One second passes: everybody acts once, the manager only if something changed or is due.
    pub(crate) fn tick(&mut self) {
        self.advance();
        if self.seen() != self.seen || self.is_due() {
            self.seen = self.seen();
            self.manager();
        }
        self.check();
    }

    /// One second passes for everybody but the manager.
    pub(crate) fn advance(&mut self) {
        self.now = self.after(1);
        self.run_daemonset_controller();
        self.run_kubelets();
    }

    pub(crate) fn run(&mut self, seconds: usize) {
        for _ in 0..seconds {
            self.tick();
        }
    }

    /// Until `done`, at most an hour.
    pub(crate) fn run_until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..3600 {
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("not reached: {what}\n{}", self.report());
    }

    pub(crate) fn check(&mut self) {
        let mut laws = std::mem::take(&mut self.laws);
        let broken = laws.check(self);
        self.laws = laws;
        assert_eq!(broken, Vec::<String>::new(), "{}", self.report());
    }

    pub(crate) fn report(&self) -> String {
        let statuses = self.schedexts.iter().map(|one| {
            let status = one.status.clone().unwrap_or_default();
            format!(
                "{:?} gen {:?} sched {} rollout {:?}\n  good {:?} rejected {:?} quarantined {:?}\n  {:?}",
                one.metadata.name,
                one.metadata.generation,
                one.spec.sched,
                status.rollout,
                status.last_good.map(|good| good.revision),
                status.rejected,
                status.quarantined,
                status.conditions.iter().map(|one| (&one.reason, &one.message)).collect::<Vec<_>>(),
            )
        });
        let daemonsets = self.daemonsets.iter().map(|one| {
            format!(
                "{} {} {} {}",
                one["metadata"]["name"],
                one["spec"]["template"]["spec"]["containers"][0]["image"],
                one["spec"]["updateStrategy"],
                one["spec"]["minReadySeconds"]
            )
        });
        let pods = self.pods.iter().map(|pod| format!("{pod:?}"));
        let nodes = self
            .nodes
            .iter()
            .map(|node| format!("{} {:?}", node.name, node.labels));
        let events = self.events.iter().map(|(at, text)| format!("{at} {text}"));
        let all: Vec<String> = statuses
            .chain(daemonsets)
            .chain(nodes)
            .chain(pods)
            .chain(events)
            .collect();
        format!("now {}\n{}", self.now, all.join("\n"))
    }
}

impl Pod {
    pub(crate) fn attached(&self) -> Option<Timestamp> {
        match self.container {
            Container::Running { attached, .. } => attached,
            _ => None,
        }
    }

    pub(crate) fn has_container(&self) -> bool {
        matches!(self.container, Container::Running { .. })
    }
}

/// The kernel's name of an image's scheduler: `good:2` is `good`.
fn ops(image: &str) -> String {
    image.split(':').next().unwrap().replace('-', "_")
}

pub(crate) fn shared<T: Clone>(all: &[T]) -> Vec<Arc<T>> {
    all.iter().cloned().map(Arc::new).collect()
}
