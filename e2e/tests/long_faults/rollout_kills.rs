//! A roll-out whose manager is killed at each of its writes: every other write is lost, the rest take
//! effect, and no manager ever hears of one. The story ends as it does undisturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use sked_api::SchedExt;
use testkit::bench::cluster::BenchCluster;
use testkit::bench::emulated_kernels::Kernels;
use testkit::bench::emulated_nodes::{EmulatedNodes, name};
use testkit::bench::operator::Operator;

use crate::fleet::TIMEOUT;
use crate::proxy::{Faults, Proxy};

const NAMESPACE: &str = "kills";
const NODES: usize = 3;
/// How long an undisturbed manager is watched.
const QUIET: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_manager_that_is_killed_at_each_write_ends_where_it_would_have() {
    let cluster = BenchCluster::up("e2e-faults-rollout", true).await.unwrap();
    cluster.namespace(NAMESPACE).await.unwrap();
    let nodes = EmulatedNodes::create(&cluster, NODES, |_| BTreeMap::new())
        .await
        .unwrap();
    for number in 0..NODES {
        nodes.report(&name(number), None).await.unwrap();
    }
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let kernels = Kernels {
        nodes: &nodes,
        pods: pods.clone(),
        ejects: |image| image.ends_with(":2"),
    };
    tokio::select! {
        failed = kernels.run() => panic!("{failed:?}"),
        failed = reached(pods, 2) => panic!("the second version reached {failed:?}"),
        () = story(&cluster) => {}
    }
}

async fn story(cluster: &BenchCluster) {
    let schedexts: Api<SchedExt> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let proxy = Proxy::start(&cluster.client).await;
    proxy.inject(Faults::NO_WRITE_RETURNS);
    let new: SchedExt = serde_json::from_value(json!({
        "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
        "metadata": {"name": "lab"}, "spec": spec(1),
    }))
    .unwrap();
    schedexts
        .create(&PostParams::default(), &new)
        .await
        .unwrap();
    for (version, phase, runs) in [(1, "Complete", 1), (2, "RolledBack", 1), (3, "Complete", 3)] {
        let change = Patch::Merge(json!({"spec": spec(version)}));
        let params = PatchParams::default();
        schedexts.patch("lab", &params, &change).await.unwrap();
        let begin = Instant::now();
        let before = proxy.injected();
        let done = async || is_settled(cluster, version, phase, runs).await;
        let killed = killed_until(cluster, &proxy, done).await;
        println!(
            "version {version}: {killed} managers were killed at {} writes, {phase} after {:?}",
            proxy.injected() - before,
            begin.elapsed()
        );
        let status = json!(schedexts.get("lab").await.unwrap().status);
        let rejected = &status["rejected"];
        match version {
            2 => assert_eq!(rejected["reason"], "Stall", "{status}"),
            _ => assert_eq!(rejected, &Value::Null, "{status}"),
        }
    }
    // One that is left alone finishes what the last one had begun, and finds nothing else to do.
    let log = cluster.lab.state().path("sked.log");
    let kubeconfig = cluster.kubeconfig().unwrap();
    let manager = manager(&kubeconfig, &log);
    tokio::time::sleep(QUIET).await;
    let before = cluster.writes().await.unwrap();
    tokio::time::sleep(QUIET).await;
    assert_eq!(cluster.writes().await.unwrap(), before);
    drop(manager);
    assert!(is_settled(cluster, 3, "Complete", 3).await);
}

/// Managers, each of which is killed at its first write, until something is so. Returns how many.
async fn killed_until(
    cluster: &BenchCluster,
    proxy: &Proxy,
    done: impl AsyncFn() -> bool,
) -> usize {
    let kubeconfig = cluster.lab.state().path("proxy.kubeconfig");
    let log = cluster.lab.state().path("sked.log");
    proxy.kubeconfig(&kubeconfig);
    let begin = Instant::now();
    let mut killed = 0;
    let mut running = manager(&kubeconfig, &log);
    while !done().await {
        assert!(begin.elapsed() < TIMEOUT, "not settled; see {log:?}");
        let moment = Duration::from_millis(500);
        if tokio::time::timeout(moment, proxy.write()).await.is_ok() {
            drop(running);
            killed += 1;
            running = manager(&kubeconfig, &log);
        }
    }
    killed
}

fn manager(kubeconfig: &std::path::Path, log: &std::path::Path) -> Operator {
    let program = testkit::program::sked();
    Operator::start(&program, &["manager"], kubeconfig, log).unwrap()
}

/// The phase is reached, and each node has one pod, of this version.
async fn is_settled(cluster: &BenchCluster, version: u32, phase: &str, runs: u32) -> bool {
    let schedexts: Api<SchedExt> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let status = json!(schedexts.get("lab").await.unwrap().status);
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let pods = pods.list(&Default::default()).await.unwrap();
    let there: BTreeSet<_> = pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .filter(|pod| image(pod) == Some(&image_of(runs)))
        .filter_map(|pod| pod.spec.as_ref()?.node_name.clone())
        .collect();
    let revision = &status["rollout"]["revision"];
    let of_version = match version {
        2 => *revision == status["rejected"]["revision"],
        _ => status["lastGood"]["spec"]["sched"] == image_of(version),
    };
    status["rollout"]["phase"] == phase
        && of_version
        && there.len() == NODES
        && pods.items.len() == NODES
}

/// Ends when a version has had pods on two nodes.
async fn reached(pods: Api<Pod>, version: u32) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut watched = pin!(watcher(pods, watcher::Config::default()));
    while let Some(event) = watched.next().await {
        if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event
            && image(&pod) == Some(&image_of(version))
        {
            reached.extend(pod.spec.and_then(|spec| spec.node_name));
        }
        if reached.len() > 1 {
            break;
        }
    }
    reached
}

fn image(pod: &Pod) -> Option<&String> {
    pod.spec.as_ref()?.containers.first()?.image.as_ref()
}

fn image_of(version: u32) -> String {
    format!("registry.example/scx_lab:{version}")
}

fn spec(version: u32) -> Value {
    json!({"sched": image_of(version), "rollout": {"soak": "2s", "canary": {"nodes": 1}}})
}
