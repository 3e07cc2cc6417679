//! Records with this machine's clock what the kernels print on their serial consoles, and what the
//! API server shows of reports, pods and the SchedExt.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, ResourceExt};
use sked_api::{RolloutPhase, SchedExt, SchedExtNode};

/// How often the file of a console is read.
const CONSOLE_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A kernel detached a scheduler, for this reason.
    Kernel(String),
    /// A kernel attached a scheduler of this name.
    Attached(String),
    /// The state in a node's report.
    Report(String),
    /// A scheduler's pod.
    Pod { ready: bool },
    /// kubelet reported that a scheduler's container ended, and what it said at last.
    Ended,
    /// The reason of a node's problem in the SchedExt's status, if it has one.
    Problem(Option<String>),
    /// The phase of the SchedExt's roll-out.
    Phase(Option<RolloutPhase>),
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) at: Instant,
    pub(crate) node: String,
    pub(crate) event: Event,
}

#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Record>>>);

impl Recorder {
    /// Reads these consoles and watches the API server from now on.
    pub(crate) fn start(client: &Client, consoles: [(&'static str, PathBuf); 2]) -> Self {
        let recorder = Self::default();
        let nodes = consoles.each_ref().map(|(node, _)| *node);
        for (node, log) in consoles {
            let recorder = recorder.clone();
            std::thread::spawn(move || recorder.console(node, &log));
        }
        tokio::spawn(recorder.clone().reports(Api::all(client.clone())));
        tokio::spawn(
            recorder
                .clone()
                .pods(Api::default_namespaced(client.clone())),
        );
        tokio::spawn(
            recorder
                .clone()
                .problems(nodes, Api::default_namespaced(client.clone())),
        );
        recorder
    }

    pub(crate) fn all(&self) -> Vec<Record> {
        self.0.lock().unwrap().clone()
    }

    /// When the first such event after a moment was recorded.
    pub(crate) fn first(
        &self,
        node: &str,
        after: Instant,
        is: impl Fn(&Event) -> bool,
    ) -> Option<Instant> {
        let records = self.0.lock().unwrap();
        let mut records = records.iter();
        let found = records.find(|one| one.node == node && one.at >= after && is(&one.event));
        found.map(|one| one.at)
    }

    fn record(&self, node: &str, event: Event) {
        let record = Record {
            at: Instant::now(),
            node: node.to_owned(),
            event,
        };
        self.0.lock().unwrap().push(record);
    }

    /// A line counts when its end is there.
    fn console(&self, node: &str, log: &PathBuf) {
        let mut lines = BufReader::new(std::fs::File::open(log).unwrap());
        let mut line = String::new();
        loop {
            match lines.read_line(&mut line) {
                Ok(read) if read > 0 && line.ends_with('\n') => {
                    if let Some(event) = of_kernel(&line) {
                        self.record(node, event);
                    }
                    line.clear();
                }
                _ => std::thread::sleep(CONSOLE_INTERVAL),
            }
        }
    }

    async fn reports(self, reports: Api<SchedExtNode>) {
        let mut objects = pin!(
            watcher(reports, watcher::Config::default())
                .default_backoff()
                .applied_objects()
        );
        while let Some(object) = objects.next().await {
            if let Ok(report) = object {
                let state = report
                    .status
                    .as_ref()
                    .and_then(|status| status.state.clone());
                self.record(&report.name_any(), Event::Report(state.unwrap_or_default()));
            }
        }
    }

    async fn pods(self, pods: Api<Pod>) {
        let mut objects = pin!(
            watcher(pods, watcher::Config::default())
                .default_backoff()
                .applied_objects()
        );
        while let Some(object) = objects.next().await {
            let Ok(pod) = object else { continue };
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let node = node.unwrap_or_default();
            let status = pod.status.unwrap_or_default();
            let mut conditions = status.conditions.unwrap_or_default().into_iter();
            let ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
            self.record(&node, Event::Pod { ready });
            let mut containers = status.container_statuses.unwrap_or_default().into_iter();
            if containers.any(|one| has_ended(&one)) {
                self.record(&node, Event::Ended);
            }
        }
    }

    async fn problems(self, nodes: [&str; 2], schedexts: Api<SchedExt>) {
        let mut objects = pin!(
            watcher(schedexts, watcher::Config::default())
                .default_backoff()
                .applied_objects()
        );
        while let Some(object) = objects.next().await {
            let Ok(schedext) = object else { continue };
            let status = schedext.status.unwrap_or_default();
            let problems = status.problems;
            let phase = status.rollout.map(|rollout| rollout.phase);
            for node in nodes {
                self.record(node, Event::Phase(phase));
                let problem = problems.iter().find(|problem| problem.node == node);
                let reason = problem.map(|problem| problem.reason.clone());
                self.record(node, Event::Problem(reason));
            }
        }
    }
}

/// Whether a container ended, even if it was started again.
fn has_ended(container: &ContainerStatus) -> bool {
    let states = [&container.state, &container.last_state].into_iter();
    states.flatten().any(|state| state.terminated.is_some())
}

/// What a line of a console says about a scheduler.
fn of_kernel(line: &str) -> Option<Event> {
    let (_, text) = line.split_once("sched_ext: BPF scheduler \"")?;
    let (name, what) = text.split_once('"')?;
    if what.starts_with(" enabled") {
        return Some(Event::Attached(name.to_owned()));
    }
    let (_, reason) = what.split_once(" disabled (")?;
    let reason = reason.split(')').next().unwrap_or_default();
    Some(Event::Kernel(reason.to_owned()))
}
