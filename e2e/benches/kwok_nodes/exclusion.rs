//! What it costs the Kubernetes scheduler that no node gets two schedulers: the same DaemonSet on
//! every node with nothing that excludes a second one, with the pod anti-affinity of earlier
//! templates, and with the host port of today's. For each the time to place its pods, and then the
//! time to place pods of others, which have nothing to do with it.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use lab::StopSignal;
use serde_json::json;
use sked_plan::daemonset::daemonset;
use sked_plan::part::parts;
use testkit::bench::cluster::BenchCluster;
use testkit::bench::exclusion::Exclusion;
use testkit::bench::figures::{print, within};

use super::{NAMESPACE, NODES, TIMEOUT, one_pod_each, schedext};

const OTHERS: usize = 2000;
const OTHERS_NAMESPACE: &str = "others";
/// Times what it takes without any exclusion.
const MOST_PLACEMENT: f64 = 1.2;
const MOST_OTHERS: f64 = 1.05;

/// Seconds to place the schedulers' pods, and those of others beside them.
type Seconds = [f64; 2];

/// Twice what is compared, so that one slow moment of the machine does not decide.
pub(super) async fn measure(cluster: &BenchCluster) -> anyhow::Result<bool> {
    use Exclusion::{AntiAffinity, HostPort, None};
    cluster.namespace(OTHERS_NAMESPACE).await?;
    let best = |kind: Exclusion, all: &[(Exclusion, Seconds)]| {
        let of_kind = all.iter().filter(|(one, _)| *one == kind);
        of_kind.fold([f64::MAX; 2], |best, (_, now)| {
            [best[0].min(now[0]), best[1].min(now[1])]
        })
    };
    let mut all = Vec::new();
    for kind in [None, HostPort, AntiAffinity, HostPort, None] {
        let seconds = place(cluster, kind).await?;
        print(&format!(
            "{kind:?}: {NODES} schedulers placed in {:.1} s, {OTHERS} pods of others in {:.1} s",
            seconds[0], seconds[1]
        ))?;
        all.push((kind, seconds));
    }
    let (none, port) = (best(None, &all), best(HostPort, &all));
    let mut met = within(
        "placement, against none",
        "",
        port[0] / none[0],
        MOST_PLACEMENT,
    )?;
    met &= within("others, against none", "", port[1] / none[1], MOST_OTHERS)?;
    Ok(met)
}

async fn place(cluster: &BenchCluster, kind: Exclusion) -> anyhow::Result<Seconds> {
    let all: Api<DaemonSet> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let mut everywhere = schedext(0);
    everywhere.spec.node_selector.clear();
    everywhere.spec.pools.clear();
    everywhere.metadata.namespace = Some(NAMESPACE.to_owned());
    everywhere.metadata.uid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    let part = parts(&everywhere).next().context("a SchedExt has a part")?;
    let mut made = daemonset(&part);
    made.metadata.owner_references = None;
    kind.apply(&mut made)?;
    let begin = Instant::now();
    all.create(&PostParams::default(), &made).await?;
    one_pod_each(cluster, NODES).await?;
    let placed = begin.elapsed().as_secs_f64();
    let others = others(cluster).await?;
    cluster.clear(&all).await?;
    for namespace in [NAMESPACE, OTHERS_NAMESPACE] {
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
        cluster.clear(&pods).await?;
    }
    Ok([placed, others])
}

/// The time between the first and the last of them that is bound. They are created while nothing
/// schedules, so that creating them does not count.
async fn others(cluster: &BenchCluster) -> anyhow::Result<f64> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), OTHERS_NAMESPACE);
    let pod = |number: usize| {
        serde_json::from_value(json!({
            "metadata": {"name": format!("other-{number:04}"), "labels": {"app": "other"}},
            "spec": {
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "image": "registry.example/c:1"}],
            },
        }))
    };
    let all: Vec<Pod> = (0..OTHERS).map(pod).collect::<Result<_, _>>()?;
    let scheduler = "kube-scheduler";
    cluster.lab.stop_service(scheduler, StopSignal::Term)?;
    cluster.create(&pods, &all).await?;
    cluster.lab.start_service(scheduler)?;
    let mut watched = pin!(watcher(pods, watcher::Config::default()));
    let wait = async {
        let mut bound = BTreeSet::new();
        let mut first = None;
        while let Some(event) = watched.next().await {
            if let Event::Apply(pod) | Event::InitApply(pod) = event?
                && pod
                    .spec
                    .as_ref()
                    .is_some_and(|spec| spec.node_name.is_some())
            {
                bound.insert(pod.name_any());
                let first = *first.get_or_insert_with(Instant::now);
                if bound.len() == OTHERS {
                    return Ok(first.elapsed().as_secs_f64());
                }
            }
        }
        bail!("the watch of the pods ended")
    };
    let took = tokio::time::timeout(TIMEOUT, wait).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    took
}
