//! Who said what when, by this machine's clock: the kernels on their serial consoles, and what the
//! API server shows of reports, pods and the SchedExt.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, ResourceExt};
use sked_api::{SchedExt, SchedExtNode};

/// How often a console is looked at.
const GLANCE: Duration = Duration::from_millis(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// A kernel's line about a scheduler that was let go; why.
    Kernel(String),
    /// A report's state.
    Report(String),
    /// Whether a scheduler's pod is ready.
    Pod(bool),
    /// The reason of a node's problem in the SchedExt's status; nothing: it has none.
    Problem(Option<String>),
}

#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) at: Instant,
    pub(crate) node: String,
    pub(crate) word: Word,
}

#[derive(Clone, Default)]
pub(crate) struct Witness(Arc<Mutex<Vec<Said>>>);

impl Witness {
    /// Listens to these consoles, and to what the API server shows.
    pub(crate) fn listen(client: &Client, consoles: [(&'static str, PathBuf); 2]) -> Self {
        let witness = Self::default();
        let nodes = consoles.each_ref().map(|(node, _)| *node);
        for (node, log) in consoles {
            let witness = witness.clone();
            std::thread::spawn(move || witness.console(node, &log));
        }
        tokio::spawn(witness.clone().reports(Api::all(client.clone())));
        tokio::spawn(
            witness
                .clone()
                .pods(Api::default_namespaced(client.clone())),
        );
        tokio::spawn(
            witness
                .clone()
                .problems(nodes, Api::default_namespaced(client.clone())),
        );
        witness
    }

    pub(crate) fn all(&self) -> Vec<Said> {
        self.0.lock().unwrap().clone()
    }

    /// The first word of a kind after a moment.
    pub(crate) fn first(
        &self,
        node: &str,
        after: Instant,
        is: impl Fn(&Word) -> bool,
    ) -> Option<Instant> {
        let said = self.0.lock().unwrap();
        let mut said = said.iter();
        let found = said.find(|one| one.node == node && one.at >= after && is(&one.word));
        found.map(|one| one.at)
    }

    fn say(&self, node: &str, word: Word) {
        let said = Said {
            at: Instant::now(),
            node: node.to_owned(),
            word,
        };
        self.0.lock().unwrap().push(said);
    }

    /// A line is said when its end is there.
    fn console(&self, node: &str, log: &PathBuf) {
        let mut lines = BufReader::new(std::fs::File::open(log).unwrap());
        let mut line = String::new();
        loop {
            match lines.read_line(&mut line) {
                Ok(read) if read > 0 && line.ends_with('\n') => {
                    let gone = line.split_once("\" disabled (");
                    if let Some((_, why)) =
                        gone.filter(|_| line.contains("sched_ext: BPF scheduler"))
                    {
                        let why = why.split(')').next().unwrap_or_default();
                        self.say(node, Word::Kernel(why.to_owned()));
                    }
                    line.clear();
                }
                _ => std::thread::sleep(GLANCE),
            }
        }
    }

    async fn reports(self, reports: Api<SchedExtNode>) {
        let mut seen = pin!(
            watcher(reports, watcher::Config::default())
                .default_backoff()
                .applied_objects()
        );
        while let Some(event) = seen.next().await {
            if let Ok(report) = event {
                let state = report
                    .status
                    .as_ref()
                    .and_then(|status| status.state.clone());
                self.say(&report.name_any(), Word::Report(state.unwrap_or_default()));
            }
        }
    }

    async fn pods(self, pods: Api<Pod>) {
        let mut seen = pin!(
            watcher(pods, watcher::Config::default())
                .default_backoff()
                .applied_objects()
        );
        while let Some(event) = seen.next().await {
            let Ok(pod) = event else { continue };
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let status = pod.status.unwrap_or_default();
            let mut conditions = status.conditions.unwrap_or_default().into_iter();
            let ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
            self.say(&node.unwrap_or_default(), Word::Pod(ready));
        }
    }

    async fn problems(self, nodes: [&str; 2], schedexts: Api<SchedExt>) {
        let mut seen = pin!(
            watcher(schedexts, watcher::Config::default())
                .default_backoff()
                .applied_objects()
        );
        while let Some(event) = seen.next().await {
            let Ok(schedext) = event else { continue };
            let problems = schedext.status.unwrap_or_default().problems;
            for node in nodes {
                let problem = problems.iter().find(|problem| problem.node == node);
                let reason = problem.map(|problem| problem.reason.clone());
                self.say(node, Word::Problem(reason));
            }
        }
    }
}
