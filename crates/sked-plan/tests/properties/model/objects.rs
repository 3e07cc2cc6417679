//! The objects of the cluster, as small as the model can have them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schedkit_core::SchedulerExit;
use serde_json::Value;
use sked_api::SchedExtStatus;
use sked_plan::live_pod::{ContainerExit, Gate, PodState};
use sked_plan::{LiveDaemonSet, LivePod, NodeName, NodeReport, ObjectKey, Uid};

use super::times::{Dated, now, timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SchedExt {
    pub(super) name: &'static str,
    /// Which of the scenario's specs.
    pub(super) spec: usize,
    pub(super) generation: i64,
    pub(super) record: Record,
}

/// Those fields of a status that anything is decided by.
#[derive(Clone, Debug)]
pub(super) struct Record {
    text: Arc<str>,
    pub(super) status: Arc<SchedExtStatus>,
    /// Without what claims do not read.
    for_claims: Option<Arc<Self>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DaemonSet {
    pub(super) uid: u32,
    pub(super) spec: Arc<DaemonSetSpec>,
    /// Whether the DaemonSet controller has read this spec.
    pub(super) is_observed: bool,
    pub(super) desired: i32,
    pub(super) updated: i32,
    pub(super) ready: i32,
}

/// What the API server stores of a DaemonSet that the planner wants.
#[derive(Debug)]
pub(super) struct DaemonSetSpec {
    pub(super) id: u64,
    pub(super) value: Value,
    pub(super) live: LiveDaemonSet,
    pub(super) template: Arc<Template>,
    pub(super) min_ready_seconds: i64,
    /// How many nodes may be without a pod in a rolling update; none if there is no rolling update.
    pub(super) max_unavailable: Option<usize>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Template {
    pub(super) hash: String,
    /// The name of the SchedExt.
    pub(super) owner: String,
    pub(super) image: String,
    pub(super) revision: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pod {
    pub(super) daemonset: u32,
    pub(super) node: NodeName,
    pub(super) template: Arc<Template>,
    pub(super) created: i64,
    pub(super) container: Container,
    /// When the container ended last, and of what.
    pub(super) ended: Option<(i64, End)>,
    pub(super) gate: Option<(bool, &'static str, i64)>,
    pub(super) is_deleted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Container {
    /// The pod waits for its node.
    None,
    Running {
        started: i64,
        attached: Option<i64>,
    },
    Ended {
        until: i64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum End {
    Stall,
    Reboot,
}

/// What an agent reports of its kernel, and in which boot of which node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Report {
    pub(super) node: Uid,
    pub(super) boot_id: String,
    /// The scheduler that the kernel runs, since when.
    pub(super) runs: Option<(String, i64)>,
}

impl Record {
    pub(super) fn new(status: SchedExtStatus) -> Self {
        let mut claimed = status.clone();
        if let Some(rollout) = &mut claimed.rollout {
            rollout.failures.clear();
            rollout.since = Time(now());
        }
        Self {
            for_claims: (claimed != status).then(|| Arc::new(Self::new(claimed))),
            text: serde_json::to_string(&status).unwrap().into(),
            status: Arc::new(status),
        }
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new(SchedExtStatus::default())
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Record {}

impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialEq for DaemonSetSpec {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for DaemonSetSpec {}

impl Hash for DaemonSetSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// Claims read neither times nor counts: what has only other ones is the same question.
impl SchedExt {
    pub(super) fn for_claims(&self) -> Self {
        let record = match &self.record.for_claims {
            Some(record) => Record::clone(record),
            None => self.record.clone(),
        };
        Self {
            record,
            ..self.clone()
        }
    }
}

impl DaemonSet {
    pub(super) fn for_claims(&self) -> Self {
        Self {
            is_observed: true,
            desired: 0,
            updated: 0,
            ready: 0,
            ..self.clone()
        }
    }

    pub(super) fn live(&self) -> LiveDaemonSet {
        LiveDaemonSet {
            uid: daemonset_uid(self.uid),
            generation: 2,
            observed_generation: 1 + i64::from(self.is_observed),
            desired: self.desired,
            updated: self.updated,
            ready: self.ready,
            ..self.spec.live.clone()
        }
    }
}

impl Pod {
    pub(super) fn for_claims(&self) -> Self {
        Self {
            created: 0,
            container: match self.container {
                Container::None => Container::None,
                Container::Running { .. } => Container::Running {
                    started: 0,
                    attached: None,
                },
                Container::Ended { .. } => Container::Ended { until: 0 },
            },
            ended: self.ended.map(|(_, end)| (0, end)),
            gate: None,
            ..self.clone()
        }
    }

    pub(super) fn attached(&self) -> Option<i64> {
        match self.container {
            Container::Running { attached, .. } => attached,
            _ => None,
        }
    }

    pub(super) fn has_container(&self) -> bool {
        matches!(self.container, Container::Running { .. })
    }

    pub(super) fn live(&self, uid: u32) -> LivePod {
        LivePod {
            key: ObjectKey {
                namespace: "default".to_owned(),
                name: format!("pod-{uid}"),
            },
            daemonset: daemonset_uid(self.daemonset),
            node: Some(self.node.clone()),
            deleting: self.is_deleted,
            uid: Uid(format!("pod-{uid}")),
            state: match self.container {
                Container::None => PodState::Unscheduled(None),
                Container::Running { .. } => PodState::Running,
                Container::Ended { .. } => PodState::Ended,
            },
            started: match self.container {
                Container::Running { started, .. } => Some(timestamp(started)),
                _ => None,
            },
            last_exit: self.ended.map(|(at, end)| end.exit(at)),
            restarts: i32::from(self.ended.is_some()),
            gate: self.gate.map(|(attached, reason, since)| Gate {
                attached,
                reason: reason.to_owned(),
                since: timestamp(since),
            }),
            template: self.template.hash.clone(),
            revision: self.template.revision.clone(),
            created: timestamp(self.created),
        }
    }
}

impl End {
    fn exit(self, at: i64) -> ContainerExit {
        let (code, reason, output) = match self {
            Self::Stall => (
                1,
                "Error",
                "EXIT: runnable task stall (watchdog failed to check in)",
            ),
            Self::Reboot => (255, "Unknown", ""),
        };
        ContainerExit {
            code,
            reason: reason.to_owned(),
            exit_message: SchedulerExit::parse(output),
            at: Some(timestamp(at)),
        }
    }
}

impl Report {
    pub(super) fn read(&self) -> NodeReport {
        let ops = self.runs.as_ref().map(|(ops, _)| ops.parse().unwrap());
        let state = if ops.is_some() { "enabled" } else { "disabled" };
        NodeReport {
            owner: Some(self.node.clone()),
            boot_id: Some(self.boot_id.clone()),
            supported: Some(true),
            state: Some(state.to_owned()),
            ops,
            since: self.runs.as_ref().map(|(_, since)| timestamp(*since)),
            ..NodeReport::default()
        }
    }
}

pub(super) fn daemonset_uid(uid: u32) -> Uid {
    Uid(format!("ds-{uid}"))
}

impl Dated for DaemonSet {
    fn each_time(&mut self, _: &mut dyn FnMut(&mut i64)) {}
}

impl Dated for Pod {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        visit(&mut self.created);
        match &mut self.container {
            Container::None => {}
            Container::Running { started, attached } => {
                visit(started);
                attached.iter_mut().for_each(&mut *visit);
            }
            Container::Ended { until } => visit(until),
        }
        self.ended.iter_mut().for_each(|(at, _)| visit(at));
        self.gate.iter_mut().for_each(|(_, _, since)| visit(since));
    }
}

impl Dated for Report {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        self.runs.iter_mut().for_each(|(_, since)| visit(since));
    }
}
