//! Sees every state that pods and DaemonSets go through, and remembers what must not be.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use futures::StreamExt;
use kube::ResourceExt;
use kube::runtime::watcher::{Config, Event, watcher};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::changes::STEADY;
use crate::cluster::Cluster;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// How many states of pods.
    pub(crate) states: usize,
    /// Nodes with two pods at the same moment, and when.
    pub(crate) crowded: Vec<String>,
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
            let mut record = Record::default();
            let mut at: BTreeMap<String, (String, &str)> = BTreeMap::new();
            let mut listed = BTreeSet::new();
            let mut pods = pin!(watcher(pods, Config::default()));
            let mut daemonsets = pin!(watcher(daemonsets, Config::default()));
            loop {
                tokio::select! {
                    _ = &mut end => return record,
                    Some(Ok(event)) = pods.next() => {
                        record.states += 1;
                        match event {
                            Event::Init => listed.clear(),
                            Event::InitApply(pod) | Event::Apply(pod) => {
                                listed.insert(pod.name_any());
                                let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
                                if let Some(node) = node {
                                    let name = pod.name_any();
                                    let going = pod.metadata.deletion_timestamp.is_some();
                                    let how = if going { "going" } else { "staying" };
                                    let other = at.iter().find(|(other, (there, _))| *there == node && **other != name);
                                    if let Some((other, (_, was))) = other {
                                        record.crowded.push(format!("{node}: {other} ({was}) and {name} ({how})"));
                                    }
                                    at.insert(name, (node, how));
                                }
                            }
                            Event::InitDone => at.retain(|name, _| listed.contains(name)),
                            Event::Delete(pod) => { at.remove(&pod.name_any()); }
                        }
                    }
                    Some(Ok(Event::Delete(gone))) = daemonsets.next() => {
                        let name = gone.name_any();
                        if STEADY.contains(&name.as_str()) {
                            record.vanished.push(name);
                        }
                    }
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
