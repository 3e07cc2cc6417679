//! Sees every state that pods and DaemonSets go through, and remembers what must not be. While
//! nobody answers it asks again; what happened meanwhile is read from the list that comes then.

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

/// How long it waits before it asks again.
const PAUSE: Duration = Duration::from_millis(100);

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// How many states of pods.
    pub(crate) states: usize,
    /// How often all pods were listed: once at first, and again whenever a watch could not go on.
    pub(crate) lists: usize,
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
            let mut sight = Sight::default();
            let mut pods = pin!(watcher(pods, Config::default()));
            let mut daemonsets = pin!(watcher(daemonsets, Config::default()));
            loop {
                let heard = tokio::select! {
                    _ = &mut end => return sight.record,
                    Some(event) = pods.next() => event.map(|event| sight.pod(event)),
                    Some(event) = daemonsets.next() => event.map(|event| sight.daemonset(event)),
                };
                if heard.is_err() {
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

/// Pods by name: where, and whether they stay.
type Places = BTreeMap<String, (String, &'static str)>;

/// What there is at the moment, as far as was told.
#[derive(Default)]
struct Sight {
    record: Record,
    pods: Places,
    /// A list is one moment: it is held against itself and not against what was before.
    pods_listed: Places,
    /// The uids of those that must stay: one that was made again was deleted before.
    daemonsets: BTreeMap<String, String>,
    daemonsets_listed: BTreeMap<String, String>,
}

impl Sight {
    fn pod(&mut self, event: Event<Pod>) {
        self.record.states += 1;
        match event {
            Event::Init => self.pods_listed.clear(),
            Event::InitApply(pod) => place(&pod, &mut self.pods_listed, &mut self.record),
            Event::InitDone => {
                self.record.lists += 1;
                self.pods = std::mem::take(&mut self.pods_listed);
            }
            Event::Apply(pod) => place(&pod, &mut self.pods, &mut self.record),
            Event::Delete(pod) => {
                self.pods.remove(&pod.name_any());
            }
        }
    }

    fn daemonset(&mut self, event: Event<DaemonSet>) {
        match event {
            Event::Init => self.daemonsets_listed.clear(),
            Event::InitApply(seen) => steady(&seen, &mut self.daemonsets_listed),
            Event::InitDone => {
                let listed = std::mem::take(&mut self.daemonsets_listed);
                let gone = |(name, uid): &(&String, &String)| listed.get(*name) != Some(*uid);
                let gone = self.daemonsets.iter().filter(gone).map(|(name, _)| name);
                self.record.vanished.extend(gone.cloned());
                self.daemonsets = listed;
            }
            Event::Apply(seen) => steady(&seen, &mut self.daemonsets),
            Event::Delete(gone) => {
                let name = gone.name_any();
                let known = self.daemonsets.remove(&name);
                self.record.vanished.extend(known.map(|_| name));
            }
        }
    }
}

fn place(pod: &Pod, places: &mut Places, record: &mut Record) {
    let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) else {
        return;
    };
    let name = pod.name_any();
    let going = pod.metadata.deletion_timestamp.is_some();
    let how = if going { "going" } else { "staying" };
    let mut others = places.iter();
    if let Some((other, (_, was))) =
        others.find(|(other, (there, _))| *there == node && **other != name)
    {
        let crowd = format!("{node}: {other} ({was}) and {name} ({how})");
        record.crowded.push(crowd);
    }
    places.insert(name, (node, how));
}

fn steady(seen: &DaemonSet, known: &mut BTreeMap<String, String>) {
    let name = seen.name_any();
    if STEADY.contains(&name.as_str()) {
        known.insert(name, seen.uid().unwrap_or_default());
    }
}
