//! Five thousand nodes whose agents all report a change at once: how long until every gate and the
//! statuses are right, beside a bare loop that makes the same writes, and what it costs.
//!
//! The nodes are objects only, and so are the pods of agents and schedulers; this program writes what
//! the agents would report. `SKED` names the program under test.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;
use sked_api::label::{ATTACHED_GATE, MANAGED_BY};
use sked_api::{SchedExt, SchedExtSpec};
use testkit::bench::cluster::{BenchCluster, CONCURRENCY};
use testkit::bench::emulated_nodes::{EmulatedNodes, name, running};
use testkit::bench::figures::{beside, print, within};
use testkit::bench::operator::Operator;

const NODES: usize = 5000;
const SCHEDEXTS: usize = 5;
const NAMESPACE: &str = "fleet";
/// As many reports are on their way at the same time.
const REPORTS: usize = 64;
const MOST_OF_BARE: f64 = 1.5;
const MOST_MEGABYTES: f64 = 57.0;
const MOST_STATUSES: f64 = 2.0;

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
        tokio::try_join!(fleet.report(Some("rusty_1.1.4")), fleet.all_reported())?;
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
    tokio::try_join!(fleet.report(None), fleet.close_gates())?;
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
    nodes: EmulatedNodes,
    pods: Api<Pod>,
    schedexts: Api<SchedExt>,
}

impl<'a> Fleet<'a> {
    /// The nodes and the SchedExts.
    async fn assemble(cluster: &'a BenchCluster) -> anyhow::Result<Self> {
        let client = &cluster.client;
        cluster.namespace(NAMESPACE).await?;
        let row = |number: usize| BTreeMap::from([("row", (number % SCHEDEXTS).to_string())]);
        let fleet = Self {
            nodes: EmulatedNodes::create(cluster, NODES, row).await?,
            cluster,
            pods: Api::namespaced(client.clone(), NAMESPACE),
            schedexts: Api::namespaced(client.clone(), NAMESPACE),
        };
        fleet.report(None).await?;
        let all: Vec<_> = (0..SCHEDEXTS).map(schedext).collect();
        cluster.create(&fleet.schedexts, &all).await?;
        Ok(fleet)
    }

    async fn pods_placed(&self) -> anyhow::Result<()> {
        running(self.pods.clone(), NODES).await
    }

    /// Every agent reports this scheduler, or none.
    async fn report(&self, ops: Option<&str>) -> anyhow::Result<()> {
        stream::iter(0..NODES)
            .map(|number| async move { self.nodes.report(&name(number), ops).await })
            .buffer_unordered(REPORTS)
            .try_collect()
            .await
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

fn schedext(number: usize) -> SchedExt {
    let spec = SchedExtSpec {
        sched: "registry.example/scx_rusty:1.1.4".to_owned(),
        node_selector: BTreeMap::from([("row".to_owned(), number.to_string())]),
        ..SchedExtSpec::default()
    };
    SchedExt::new(&format!("scx-{number}"), spec)
}

fn ours() -> watcher::Config {
    watcher::Config::default().labels(&format!("{}={}", MANAGED_BY.0, MANAGED_BY.1))
}
