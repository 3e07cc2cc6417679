//! Nodes that are objects only, each with the pod of an agent and a report: whoever measures writes
//! what the agents would report.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use anyhow::bail;
use futures::StreamExt;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;
use sked_api::SchedExtNode;
use sked_api::label::NODE_AGENT;

use super::cluster::BenchCluster;
use super::figures::print;

const AGENTS: &str = "sked-system";
/// The boot ID that kwok gives every node.
const BOOT: &str = "00000000-0000-0000-0000-000000000000";
const TIMEOUT: Duration = Duration::from_secs(1800);

pub struct EmulatedNodes {
    reports: Api<SchedExtNode>,
}

impl EmulatedNodes {
    /// Creates as many nodes, with these labels besides their own, their agents' pods and their
    /// reports; every kernel runs its default scheduler.
    pub async fn create(
        cluster: &BenchCluster,
        count: usize,
        labels: impl Fn(usize) -> BTreeMap<&'static str, String>,
    ) -> anyhow::Result<Self> {
        let client = &cluster.client;
        cluster.namespace(AGENTS).await?;
        let nodes: Vec<Node> = (0..count)
            .map(|number| node(number, labels(number)))
            .collect::<Result<_, _>>()?;
        cluster.create(&Api::all(client.clone()), &nodes).await?;
        let agents: Api<DaemonSet> = Api::namespaced(client.clone(), AGENTS);
        agents.create(&PostParams::default(), &agent()?).await?;
        running(Api::namespaced(client.clone(), AGENTS), count).await?;
        print("an agent's pod on every node")?;
        let reports = Api::all(client.clone());
        cluster
            .create(&reports, &first_reports(cluster).await?)
            .await?;
        Ok(Self { reports })
    }

    /// The agent of a node reports that its kernel has this scheduler, or none, since now.
    pub async fn report(&self, node: &str, ops: Option<&str>) -> anyhow::Result<()> {
        let since = jiff::Timestamp::now();
        let status = json!({
            "kernelRelease": "6.18.15", "bootID": BOOT, "supported": true,
            "state": if ops.is_some() { "enabled" } else { "disabled" },
            "ops": ops, "enableSeq": 1, "since": format!("{since:.6}"),
        });
        let patch = Patch::Merge(json!({"status": status}));
        let params = PatchParams::default();
        self.reports.patch_status(node, &params, &patch).await?;
        Ok(())
    }
}

pub fn name(number: usize) -> String {
    format!("node-{number:04}")
}

fn node(number: usize, more: BTreeMap<&str, String>) -> serde_json::Result<Node> {
    let (label, value) = lab::kwok::LABEL;
    let mut labels = more;
    labels.insert(label, value.to_owned());
    labels.insert("kubernetes.io/hostname", name(number));
    serde_json::from_value(json!({"metadata": {"name": name(number), "labels": labels}}))
}

async fn first_reports(cluster: &BenchCluster) -> anyhow::Result<Vec<SchedExtNode>> {
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    let nodes = nodes.list_metadata(&ListParams::default()).await?;
    let reports = nodes.iter().map(|node| {
        let owner =
            json!({"apiVersion": "v1", "kind": "Node", "name": node.name_any(), "uid": node.uid()});
        serde_json::from_value(json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode", "spec": {},
            "metadata": {"name": node.name_any(), "ownerReferences": [owner]},
        }))
    });
    Ok(reports.collect::<Result<_, _>>()?)
}

fn agent() -> serde_json::Result<DaemonSet> {
    let (key, value) = NODE_AGENT;
    let labels = json!({key: value});
    serde_json::from_value(json!({
        "metadata": {"name": "sked-node-agent"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "agent", "image": "registry.example/sked:1"}]},
            },
        },
    }))
}

/// Waits until as many pods run.
pub async fn running(pods: Api<Pod>, count: usize) -> anyhow::Result<()> {
    let wait = async {
        let mut running = BTreeSet::new();
        let mut watched = pin!(watcher(pods, watcher::Config::default()));
        while let Some(event) = watched.next().await {
            if let Event::Apply(pod) | Event::InitApply(pod) = event? {
                let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
                if phase.as_deref() == Some("Running") {
                    running.insert(pod.name_any());
                }
            }
            if running.len() == count {
                return Ok(());
            }
        }
        bail!("the watch of the pods ended")
    };
    tokio::time::timeout(TIMEOUT, wait).await?
}
