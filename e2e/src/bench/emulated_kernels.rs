//! The kernels of emulated nodes, and their agents: a node's kernel has the scheduler of the pod that
//! runs there, its agent reports it, and a scheduler with an image that fails is ejected.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;
use sked_api::label::MANAGED_BY;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use super::emulated_nodes::EmulatedNodes;

/// As many reports are on their way at the same time; those of one node come one after the other.
const WRITERS: usize = 32;
/// How long a kernel runs a scheduler that it ejects.
const UNTIL_EJECTED: Duration = Duration::from_secs(1);

pub struct Kernels<'a> {
    pub nodes: &'a EmulatedNodes,
    pub pods: Api<Pod>,
    /// Whether a scheduler with this image is ejected.
    pub ejects: fn(&str) -> bool,
}

/// What happens on a node.
enum Change {
    Begins(Box<Pod>),
    Ends { node: String },
}

impl Kernels<'_> {
    /// Ends only with an error.
    pub async fn run(&self) -> anyhow::Result<Infallible> {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..WRITERS).map(|_| unbounded_channel()).unzip();
        let writers = receivers.into_iter().map(|changes| self.write(changes));
        tokio::select! {
            failed = try_join_all(writers) => match failed?.pop().context("there are writers")? {},
            failed = self.watch(&senders) => failed,
        }
    }

    async fn watch(&self, writers: &[UnboundedSender<Change>]) -> anyhow::Result<Infallible> {
        let ours = format!("{}={}", MANAGED_BY.0, MANAGED_BY.1);
        let config = watcher::Config::default().labels(&ours);
        let mut watched = pin!(watcher(self.pods.clone(), config));
        // The pod whose scheduler each kernel has.
        let mut attached: BTreeMap<String, String> = BTreeMap::new();
        while let Some(event) = watched.next().await {
            let (pod, is_gone) = match event? {
                Event::Apply(pod) | Event::InitApply(pod) => (pod, false),
                Event::Delete(pod) => (pod, true),
                Event::Init | Event::InitDone => continue,
            };
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let (Some(node), Some(uid)) = (node, pod.uid()) else {
                continue;
            };
            let has_it = attached.get(&node) == Some(&uid);
            let writer: usize = node.bytes().map(usize::from).sum();
            let writer = &writers[writer % WRITERS];
            if is_gone && has_it {
                attached.remove(&node);
                writer.send(Change::Ends { node })?;
            } else if !is_gone && !has_it && is_running(&pod) {
                attached.insert(node, uid);
                writer.send(Change::Begins(Box::new(pod)))?;
            }
        }
        bail!("the watch of the pods ended")
    }

    async fn write(&self, mut changes: UnboundedReceiver<Change>) -> anyhow::Result<Infallible> {
        while let Some(change) = changes.recv().await {
            match change {
                Change::Begins(pod) => self.begin(&pod).await?,
                Change::Ends { node } => self.nodes.report(&node, None).await?,
            }
        }
        bail!("nobody follows the pods any more")
    }

    async fn begin(&self, pod: &Pod) -> anyhow::Result<()> {
        let spec = pod.spec.as_ref().context("a pod has a spec")?;
        let node = spec.node_name.as_ref().context("it runs on a node")?;
        self.nodes.report(node, Some("lab_1.0")).await?;
        let image = spec.containers.first().and_then(|one| one.image.as_ref());
        if image.is_some_and(|image| (self.ejects)(image)) {
            sleep(UNTIL_EJECTED).await;
            self.nodes.report(node, None).await?;
            self.end_container(pod).await?;
        }
        Ok(())
    }

    /// What kubelet reports when the kernel has ejected the scheduler and its process has ended.
    async fn end_container(&self, pod: &Pod) -> anyhow::Result<()> {
        let mut status = json!(pod.status);
        let now = jiff::Timestamp::now();
        let ended = json!({
            "exitCode": 1, "reason": "Error",
            "startedAt": format!("{now:.0}"), "finishedAt": format!("{now:.0}"),
            "message": "EXIT: runnable task stall (watchdog failed to check in for 5.0s)",
        });
        let container = &mut status["containerStatuses"][0];
        container["ready"] = json!(false);
        container["restartCount"] = json!(1);
        container["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        container["lastState"] = json!({"terminated": ended});
        let containers = json!({"containerStatuses": status["containerStatuses"]});
        let patch = Patch::Merge(json!({"status": containers}));
        let params = PatchParams::default();
        let name = pod.name_any();
        match self.pods.patch_status(&name, &params, &patch).await {
            // It was deleted meanwhile.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            patched => Ok(patched.map(drop)?),
        }
    }
}

fn is_running(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}
