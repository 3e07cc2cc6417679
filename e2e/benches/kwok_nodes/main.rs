//! Five thousand nodes that are objects only, twenty SchedExts that overlap, each with two pools:
//! how long until each node has one scheduler, what it costs, how fast a node that changes its
//! label moves, and what it costs the Kubernetes scheduler that no node gets two: for schedulers'
//! pods and for those of others.
//!
//! `SKED` names the program under test; `FLEET_ONLY` leaves the last of these out.

mod exclusion;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;
use sked_api::label::MANAGED_BY;
use sked_api::{Pool, SchedExt, SchedExtSpec};
use testkit::bench::cluster::BenchCluster;
use testkit::bench::figures::{print, within};
use testkit::bench::operator::Operator;

const NODES: usize = 5000;
const SCHEDEXTS: usize = 20;
const NAMESPACE: &str = "fleet";
const MOST_MEGABYTES: f64 = 57.0;
const MOST_MOVE: f64 = 2.0;
const TIMEOUT: Duration = Duration::from_secs(1800);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let cluster = BenchCluster::up("bench-kwok-nodes", true).await?;
    cluster.namespace(NAMESPACE).await?;
    let nodes: Vec<Node> = (0..NODES).map(node).collect::<Result<_, _>>()?;
    let all: Api<Node> = Api::all(cluster.client.clone());
    let begin = Instant::now();
    cluster.create(&all, &nodes).await?;
    print(&format!(
        "{NODES} nodes made in {:.1} s",
        begin.elapsed().as_secs_f64()
    ))?;
    let mut met = true;
    // The longer half, which has nothing of sked in it.
    if std::env::var_os("FLEET_ONLY").is_none() {
        met &= exclusion::measure(&cluster).await?;
    }
    met &= fleet(&cluster).await?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Ten rows of nodes, and in each row ten seats.
fn node(number: usize) -> serde_json::Result<Node> {
    let (label, value) = lab::kwok::LABEL;
    let name = format!("node-{number:04}");
    serde_json::from_value(json!({"metadata": {
        "name": name,
        "labels": {label: value, "kubernetes.io/hostname": name, "row": (number % 10).to_string(), "seat": (number / 10 % 10).to_string()},
    }}))
}

/// Every SchedExt wants one row, so that two want the same; its pools want two seats of it.
fn schedext(number: usize) -> SchedExt {
    let seat = |name: &str, seat: usize| Pool {
        name: name.to_owned(),
        node_selector: BTreeMap::from([("seat".to_owned(), seat.to_string())]),
        args: Some(vec![format!("--{name}")]),
        ..Pool::default()
    };
    let spec = SchedExtSpec {
        sched: "registry.example/scx_rusty:1.1.4".to_owned(),
        node_selector: BTreeMap::from([("row".to_owned(), (number % 10).to_string())]),
        pools: vec![seat("one", number % 10), seat("two", (number + 5) % 10)],
        ..SchedExtSpec::default()
    };
    SchedExt::new(&format!("scx-{number:02}"), spec)
}

async fn fleet(cluster: &BenchCluster) -> anyhow::Result<bool> {
    let schedexts: Api<SchedExt> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let all: Vec<SchedExt> = (0..SCHEDEXTS).map(schedext).collect();
    cluster.create(&schedexts, &all).await?;
    let before = cluster.writes().await?;
    let begin = Instant::now();
    let mut operator = Operator::sked(cluster)?;
    operator.while_running(one_pod_each(cluster, NODES)).await?;
    let took = begin.elapsed().as_secs_f64();
    print(&format!(
        "claims settled, one pod on each node: {took:.1} s"
    ))?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let after = cluster.writes().await?;
    let written = |name: &str| {
        let of = |counts: &BTreeMap<String, u64>| counts.get(name).copied().unwrap_or_default();
        of(&after) - of(&before)
    };
    print(&format!(
        "writes of nodes, Kubernetes' own among them: {}; of statuses {}; of DaemonSets {}",
        written("nodes"),
        written("schedexts/status"),
        written("daemonsets"),
    ))?;
    let mut met = within(
        "peak memory",
        "MB",
        operator.peak_megabytes()?,
        MOST_MEGABYTES,
    )?;
    print(&format!(
        "processor time: {:.2} s",
        operator.processor()?.as_secs_f64()
    ))?;
    let rest = rest(cluster).await?;
    print(&format!(
        "Kubernetes' own controllers at rest: {rest:.1} s later"
    ))?;
    let after = cluster.writes().await?;
    met &= within("a node moves", "s", moves(cluster).await?, MOST_MOVE)?;
    let last = cluster.writes().await?;
    let labels = last.get("nodes").copied().unwrap_or_default()
        - after.get("nodes").copied().unwrap_or_default();
    // One is ours, which moves the node.
    met &= within("node writes for the move", "", (labels - 1) as f64, 1.0)?;
    operator.stop()?;
    Ok(met)
}

/// Each label makes the DaemonSet controller look at every DaemonSet: it is busy long after the last
/// pod is placed, and what a move takes is asked of a cluster at rest.
async fn rest(cluster: &BenchCluster) -> anyhow::Result<f64> {
    const QUIET: Duration = Duration::from_secs(20);
    let begin = Instant::now();
    let watched = [
        "pods",
        "pods/status",
        "daemonsets/status",
        "nodes",
        "events",
    ];
    let mut before = BTreeMap::new();
    while begin.elapsed() < TIMEOUT {
        let mut now = cluster.writes().await?;
        now.retain(|name, _| watched.contains(&name.as_str()));
        if now == before {
            return Ok(begin.elapsed().as_secs_f64());
        }
        before = now;
        tokio::time::sleep(QUIET).await;
    }
    bail!("Kubernetes' own controllers did not come to rest")
}

/// One node leaves the seat that its owner's pool wants: how long until another's pod is there.
async fn moves(cluster: &BenchCluster) -> anyhow::Result<f64> {
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let (node, seat) = ("node-0000", json!({"metadata": {"labels": {"seat": "7"}}}));
    let config = watcher::Config::default().fields(&format!("spec.nodeName={node}"));
    let mut watched = pin!(watcher(pods, config));
    let mut old = BTreeSet::new();
    let mut begin = None;
    let wait = async {
        while let Some(event) = watched.next().await {
            match (event?, begin) {
                (Event::InitApply(pod), _) => {
                    old.insert(pod.name_any());
                }
                (Event::InitDone, _) => {
                    let patch = Patch::Merge(&seat);
                    begin = Some(Instant::now());
                    nodes.patch(node, &PatchParams::default(), &patch).await?;
                }
                (Event::Apply(pod), Some(begin)) if !old.contains(&pod.name_any()) => {
                    return Ok(begin.elapsed().as_secs_f64());
                }
                _ => {}
            }
        }
        bail!("the watch of the pods ended")
    };
    tokio::time::timeout(TIMEOUT, wait).await?
}

/// Waits until this many nodes have one pod each; two on one node are a failure at any moment.
async fn one_pod_each(cluster: &BenchCluster, count: usize) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let config = watcher::Config::default().labels(&format!("{}={}", MANAGED_BY.0, MANAGED_BY.1));
    let mut watched = pin!(watcher(pods, config));
    let mut on = BTreeMap::new();
    let wait = async {
        while let Some(event) = watched.next().await {
            match event? {
                Event::Apply(pod) | Event::InitApply(pod) => {
                    let bound = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
                    if let Some(node) = bound {
                        let name = pod.name_any();
                        let there = on.entry(node.clone()).or_insert_with(|| name.clone());
                        ensure!(*there == name, "{node} has {there} and {name}");
                    }
                }
                Event::Delete(pod) => on.retain(|_, name| *name != pod.name_any()),
                Event::Init | Event::InitDone => {}
            }
            if on.len() == count {
                return Ok(());
            }
        }
        bail!("the watch of the pods ended")
    };
    tokio::time::timeout(TIMEOUT, wait).await?
}
