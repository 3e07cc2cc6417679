//! Watches pods and DaemonSets and records what must not happen. While the API server is away it
//! retries; what happened meanwhile is read from the list that comes then.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::watcher::{Config, Event, watcher};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::changes::STEADY;
use crate::cluster::Cluster;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Record {
    /// How many events of pods.
    pub(crate) states: usize,
    /// How often all pods were listed: once at first, and again whenever a watch could not go on.
    pub(crate) lists: usize,
    /// Nodes with two pods at the same moment, and when.
    pub(crate) two_on_one_node: Vec<String>,
    /// DaemonSets of SchedExts that were always there, when they were deleted.
    pub(crate) vanished: Vec<String>,
}

pub(crate) struct Recorder {
    task: JoinHandle<Record>,
    over: oneshot::Sender<()>,
}

impl Recorder {
    pub(crate) async fn start(cluster: &Cluster) -> Self {
        let (over, mut end) = oneshot::channel();
        let (pods, daemonsets) = (cluster.pods(), cluster.daemonsets());
        let task = tokio::spawn(async move {
            let mut observed = Observed::default();
            let mut pods = pin!(watcher(pods, Config::default()));
            let mut daemonsets = pin!(watcher(daemonsets, Config::default()));
            loop {
                let received = tokio::select! {
                    _ = &mut end => return observed.record,
                    Some(event) = pods.next() => event.map(|event| observed.pod(event)),
                    Some(event) = daemonsets.next() => event.map(|event| observed.daemonset(event)),
                };
                if received.is_err() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        });
        Self { task, over }
    }

    pub(crate) async fn finish(self) -> Record {
        let _ = self.over.send(());
        self.task.await.unwrap()
    }
}

/// Pods by name: their node, and whether they are being deleted.
type PodNodes = BTreeMap<String, (String, &'static str)>;

/// What exists, as far as the watches have shown.
#[derive(Default)]
struct Observed {
    record: Record,
    pods: PodNodes,
    /// A list is one state: its pods are compared with each other and not with those before.
    pods_listed: PodNodes,
    /// The uids of those that must stay: one that was created again was deleted before.
    daemonsets: BTreeMap<String, String>,
    daemonsets_listed: BTreeMap<String, String>,
}

impl Observed {
    fn pod(&mut self, event: Event<Pod>) {
        self.record.states += 1;
        match event {
            Event::Init => self.pods_listed.clear(),
            Event::InitApply(pod) => record_pod(&pod, &mut self.pods_listed, &mut self.record),
            Event::InitDone => {
                self.record.lists += 1;
                self.pods = std::mem::take(&mut self.pods_listed);
            }
            Event::Apply(pod) => record_pod(&pod, &mut self.pods, &mut self.record),
            Event::Delete(pod) => {
                self.pods.remove(&pod.name_any());
            }
        }
    }

    fn daemonset(&mut self, event: Event<DaemonSet>) {
        match event {
            Event::Init => self.daemonsets_listed.clear(),
            Event::InitApply(seen) => record_steady(&seen, &mut self.daemonsets_listed),
            Event::InitDone => {
                let listed = std::mem::take(&mut self.daemonsets_listed);
                let gone = |(name, uid): &(&String, &String)| listed.get(*name) != Some(*uid);
                let gone = self.daemonsets.iter().filter(gone).map(|(name, _)| name);
                self.record.vanished.extend(gone.cloned());
                self.daemonsets = listed;
            }
            Event::Apply(seen) => record_steady(&seen, &mut self.daemonsets),
            Event::Delete(gone) => {
                let name = gone.name_any();
                let known = self.daemonsets.remove(&name);
                self.record.vanished.extend(known.map(|_| name));
            }
        }
    }
}

fn record_pod(pod: &Pod, pods: &mut PodNodes, record: &mut Record) {
    let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) else {
        return;
    };
    let name = pod.name_any();
    let going = pod.metadata.deletion_timestamp.is_some();
    let state = if going { "terminating" } else { "running" };
    let mut others = pods.iter();
    if let Some((other, (_, was))) =
        others.find(|(other, (there, _))| *there == node && **other != name)
    {
        let both = format!("{node}: {other} ({was}) and {name} ({state})");
        record.two_on_one_node.push(both);
    }
    pods.insert(name, (node, state));
}

fn record_steady(seen: &DaemonSet, known: &mut BTreeMap<String, String>) {
    let name = seen.name_any();
    if STEADY.contains(&name.as_str()) {
        known.insert(name, seen.uid().unwrap_or_default());
    }
}
