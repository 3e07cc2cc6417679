//! Five thousand nodes whose agents all report a change at once: how long until every gate and the
//! statuses are right, beside a bare loop that makes the same writes, and what it costs.
//!
//! The nodes are objects only, and so are the pods of agents and schedulers; this program writes what
//! the agents would report. `SKED` names the program under test.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use sked_api::label::{ATTACHED_GATE, MANAGED_BY, NODE_AGENT};
use sked_api::{SchedExt, SchedExtNode, SchedExtSpec};
use testkit::bench::cluster::{BenchCluster, CONCURRENCY};
use testkit::bench::figures::{beside, print, within};
use testkit::bench::operator::Operator;

const NODES: usize = 5000;
const SCHEDEXTS: usize = 5;
const NAMESPACE: &str = "fleet";
const AGENTS: &str = "sked-system";
/// As many reports are on their way at the same time.
const REPORTS: usize = 64;
const MOST_OF_BARE: f64 = 1.5;
const MOST_MEGABYTES: f64 = 57.0;
const MOST_STATUSES: f64 = 2.0;
const TIMEOUT: Duration = Duration::from_secs(1800);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let cluster = BenchCluster::up("bench-agents", true).await?;
    let fleet = Fleet::assemble(&cluster).await?;
    let mut operator = Operator::sked(&cluster)?;
    operator.while_running(fleet.pods_placed()).await?;
    print("a pod of a scheduler on every node")?;

    let before = cluster.writes().await?;
    let begin = Instant::now();
    let change = async {
        tokio::try_join!(fleet.report("enabled"), fleet.all_reported())?;
        anyhow::Ok(())
    };
    operator.while_running(change).await?;
    let ours = begin.elapsed().as_secs_f64();
    let after = cluster.writes().await?;
    let written = |name: &str| {
        let of = |counts: &BTreeMap<String, u64>| counts.get(name).copied().unwrap_or_default();
        of(&after) - of(&before)
    };
    print(&format!(
        "writes: {} gates, {} statuses",
        written("pods/status"),
        written("schedexts/status")
    ))?;
    let statuses = written("schedexts/status") as f64 / SCHEDEXTS as f64 / ours;
    let mut met = within(
        "statuses a SchedExt and second",
        "",
        statuses,
        MOST_STATUSES,
    )?;
    let peak = operator.peak_megabytes()?;
    met &= within("peak memory", "MB", peak, MOST_MEGABYTES)?;
    let processor = operator.processor()?.as_secs_f64();
    print(&format!(
        "processor time, the beginning included: {processor:.2} s"
    ))?;
    operator.stop()?;

    let begin = Instant::now();
    tokio::try_join!(fleet.report("disabled"), fleet.close_gates())?;
    let bare = begin.elapsed().as_secs_f64();
    met &= beside(
        "all gates and statuses right",
        "s",
        ours,
        ("bare loop", bare),
        MOST_OF_BARE,
    )?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Fleet<'a> {
    cluster: &'a BenchCluster,
    reports: Api<SchedExtNode>,
    pods: Api<Pod>,
    schedexts: Api<SchedExt>,
}

impl<'a> Fleet<'a> {
    /// Nodes, their agents' pods and first reports, and the SchedExts.
    async fn assemble(cluster: &'a BenchCluster) -> anyhow::Result<Self> {
        let client = &cluster.client;
        for namespace in [NAMESPACE, AGENTS] {
            cluster.namespace(namespace).await?;
        }
        let nodes: Vec<Node> = (0..NODES).map(node).collect::<Result<_, _>>()?;
        cluster.create(&Api::all(client.clone()), &nodes).await?;
        let fleet = Self {
            cluster,
            reports: Api::all(client.clone()),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            schedexts: Api::namespaced(client.clone(), NAMESPACE),
        };
        let agents: Api<DaemonSet> = Api::namespaced(client.clone(), AGENTS);
        agents.create(&PostParams::default(), &agent()?).await?;
        let agents: Api<Pod> = Api::namespaced(client.clone(), AGENTS);
        placed(agents).await?;
        print("an agent's pod on every node")?;
        fleet.first_reports().await?;
        fleet.report("disabled").await?;
        let all: Vec<_> = (0..SCHEDEXTS).map(schedext).collect();
        cluster.create(&fleet.schedexts, &all).await?;
        Ok(fleet)
    }

    async fn first_reports(&self) -> anyhow::Result<()> {
        let nodes: Api<Node> = Api::all(self.cluster.client.clone());
        let nodes = nodes.list_metadata(&ListParams::default()).await?;
        let made = nodes.iter().map(|node| {
            let owner = json!({"apiVersion": "v1", "kind": "Node", "name": node.name_any(), "uid": node.uid()});
            serde_json::from_value(json!({
                "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode", "spec": {},
                "metadata": {"name": node.name_any(), "ownerReferences": [owner]},
            }))
        });
        let made: Vec<SchedExtNode> = made.collect::<Result<_, _>>()?;
        self.cluster.create(&self.reports, &made).await
    }

    async fn pods_placed(&self) -> anyhow::Result<()> {
        placed(self.pods.clone()).await
    }

    /// Every agent reports this state.
    async fn report(&self, state: &str) -> anyhow::Result<()> {
        let ops = (state == "enabled").then_some("rusty_1.1.4");
        let since = jiff::Timestamp::now();
        let status = json!({
            "kernelRelease": "6.18.15", "bootID": BOOT, "supported": true, "state": state,
            "ops": ops, "enableSeq": 1, "since": format!("{since:.6}"),
        });
        let patch = Patch::Merge(json!({"status": status}));
        let params = PatchParams::default();
        stream::iter(0..NODES)
            .map(|number| {
                let (reports, patch, params) = (&self.reports, &patch, &params);
                async move {
                    let name = name(number);
                    reports.patch_status(&name, params, patch).await.map(drop)
                }
            })
            .buffer_unordered(REPORTS)
            .try_collect::<()>()
            .await?;
        Ok(())
    }

    /// Waits until every gate is open and every SchedExt counts all its nodes as attached.
    async fn all_reported(&self) -> anyhow::Result<()> {
        tokio::try_join!(self.gates_open(), self.statuses_attached())?;
        Ok(())
    }

    async fn gates_open(&self) -> anyhow::Result<()> {
        let mut open = BTreeSet::new();
        let mut watched = pin!(watcher(self.pods.clone(), ours()));
        while let Some(event) = watched.next().await {
            if let Event::Apply(pod) | Event::InitApply(pod) = event? {
                let status = pod.status.as_ref();
                let conditions = status.and_then(|status| status.conditions.as_ref());
                let mut conditions = conditions.into_iter().flatten();
                if conditions.any(|one| one.type_ == ATTACHED_GATE && one.status == "True") {
                    open.insert(pod.name_any());
                }
            }
            if open.len() == NODES {
                return Ok(());
            }
        }
        bail!("the watch of the pods ended")
    }

    async fn statuses_attached(&self) -> anyhow::Result<()> {
        self.cluster
            .until("all nodes are counted as attached", async || {
                let all = self.schedexts.list(&ListParams::default()).await?;
                let counts = all.iter().filter_map(|one| one.status.as_ref()?.counts);
                let attached: i32 = counts.filter_map(|counts| counts.attached).sum();
                Ok(usize::try_from(attached)? == NODES)
            })
            .await
    }

    /// The same writes as the manager's, in a loop without any logic.
    async fn close_gates(&self) -> anyhow::Result<()> {
        let pods = self.pods.list_metadata(&ListParams::default()).await?;
        let condition = json!({"type": ATTACHED_GATE, "status": "False", "reason": "Detached", "message": "bare"});
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        let params = PatchParams::default();
        let (patch, params) = (&patch, &params);
        stream::iter(pods.iter().map(ResourceExt::name_any))
            .map(|name| async move {
                let patched = self.pods.patch_status(&name, params, patch).await;
                patched.map(drop)
            })
            .buffer_unordered(CONCURRENCY)
            .try_collect::<()>()
            .await?;
        Ok(())
    }
}

/// The boot ID that kwok gives every node.
const BOOT: &str = "00000000-0000-0000-0000-000000000000";

fn name(number: usize) -> String {
    format!("node-{number:04}")
}

fn node(number: usize) -> serde_json::Result<Node> {
    let (label, value) = lab::kwok::LABEL;
    let row = (number % SCHEDEXTS).to_string();
    serde_json::from_value(json!({"metadata": {
        "name": name(number),
        "labels": {label: value, "kubernetes.io/hostname": name(number), "row": row},
    }}))
}

fn schedext(number: usize) -> SchedExt {
    let spec = SchedExtSpec {
        sched: "registry.example/scx_rusty:1.1.4".to_owned(),
        node_selector: BTreeMap::from([("row".to_owned(), number.to_string())]),
        ..SchedExtSpec::default()
    };
    SchedExt::new(&format!("scx-{number}"), spec)
}

fn agent() -> serde_json::Result<DaemonSet> {
    let (key, value) = NODE_AGENT;
    let labels: Value = json!({key: value});
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

fn ours() -> watcher::Config {
    watcher::Config::default().labels(&format!("{}={}", MANAGED_BY.0, MANAGED_BY.1))
}

/// Waits until as many pods run as there are nodes.
async fn placed(pods: Api<Pod>) -> anyhow::Result<()> {
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
            if running.len() == NODES {
                return Ok(());
            }
        }
        bail!("the watch of the pods ended")
    };
    tokio::time::timeout(TIMEOUT, wait).await?
}
