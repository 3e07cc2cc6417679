//! A new version on five thousand nodes, first on a canary of one percent and then on all: how long
//! that takes beside the roll-out of a plain DaemonSet with the same budget and the same soak, what it
//! costs the manager, and what it writes.
//!
//! The nodes are objects only; the reports that their agents would write are written here, when a
//! scheduler's pod begins or ends. `SKED` names the program under test.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sked_api::{Canary, Rollout, RolloutPhase, SchedExt, SchedExtSpec};
use sked_plan::daemonset::daemonset;
use sked_plan::part::parts;
use testkit::bench::cluster::BenchCluster;
use testkit::bench::emulated_kernels::Kernels;
use testkit::bench::emulated_nodes::EmulatedNodes;
use testkit::bench::figures::{beside, print, within};
use testkit::bench::operator::Operator;

const NODES: usize = 5000;
const NAMESPACE: &str = "fleet";
const NAME: &str = "lab";
const BUDGET: &str = "5%";
const SOAK_SECONDS: i32 = 20;
const MOST_OF_PLAIN: f64 = 1.2;
const MOST_MEGABYTES: f64 = 57.0;
const TIMEOUT: Duration = Duration::from_secs(3600);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let cluster = BenchCluster::up("bench-fleet-rollout", true).await?;
    cluster.namespace(NAMESPACE).await?;
    let nodes = EmulatedNodes::create(&cluster, NODES, |_| BTreeMap::new()).await?;
    let mut met = true;
    let kernels = Kernels {
        nodes: &nodes,
        pods: Api::namespaced(cluster.client.clone(), NAMESPACE),
        ejects: |_| false,
    };
    let ours = tokio::select! {
        failed = kernels.run() => match failed? {},
        ours = ours(&cluster, &mut met) => ours?,
    };
    let plain = plain(&cluster).await?;
    met &= beside(
        "a new version on every node",
        "s",
        ours,
        ("plain DaemonSet", plain),
        MOST_OF_PLAIN,
    )?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// From the change of the spec until every node has the second version.
async fn ours(cluster: &BenchCluster, met: &mut bool) -> anyhow::Result<f64> {
    let schedexts: Api<SchedExt> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    schedexts
        .create(&PostParams::default(), &schedext())
        .await?;
    let mut operator = Operator::sked(cluster)?;
    let begin = Instant::now();
    operator.while_running(complete(&schedexts, 1)).await?;
    let first = begin.elapsed().as_secs_f64();
    print(&format!("the first version, by canary: {first:.1} s"))?;

    let before = cluster.writes().await?;
    let begin = Instant::now();
    change(&schedexts, &json!({"spec": {"sched": image(2)}})).await?;
    operator.while_running(complete(&schedexts, 2)).await?;
    let took = begin.elapsed().as_secs_f64();
    let after = cluster.writes().await?;
    print("writes for each node, those of Kubernetes' own controllers among them:")?;
    for (resource, count) in &after {
        let count = count - before.get(resource).copied().unwrap_or_default();
        let each = count as f64 / NODES as f64;
        print(&format!("  {resource:30} {count:8} {each:8.3}"))?;
    }
    let peak = operator.peak_megabytes()?;
    *met &= within("peak memory", "MB", peak, MOST_MEGABYTES)?;
    let processor = operator.processor()?.as_secs_f64();
    print(&format!("processor time, both roll-outs: {processor:.2} s"))?;
    operator.stop()?;
    schedexts.delete(NAME, &DeleteParams::background()).await?;
    Ok(took)
}

/// The same for a DaemonSet with the same template, without a manager.
async fn plain(cluster: &BenchCluster) -> anyhow::Result<f64> {
    let daemonsets: Api<DaemonSet> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    cluster.clear(&daemonsets).await?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    cluster.clear(&pods).await?;
    let schedext = schedext();
    let base = parts(&schedext).next().context("a SchedExt has a base")?;
    let mut plain = daemonset(&base);
    plain.metadata.namespace = Some(NAMESPACE.to_owned());
    plain.metadata.owner_references = None;
    let spec = plain.spec.as_mut().context("it has a spec")?;
    if let Some(pod) = &mut spec.template.spec {
        pod.readiness_gates = None;
    }
    spec.min_ready_seconds = Some(SOAK_SECONDS);
    let strategy = spec.update_strategy.get_or_insert_default();
    let rolling = strategy.rolling_update.get_or_insert_default();
    rolling.max_unavailable = Some(IntOrString::String(BUDGET.to_owned()));
    daemonsets.create(&PostParams::default(), &plain).await?;
    available(&daemonsets).await?;
    let begin = Instant::now();
    let pod = json!({"containers": with_second_image(&plain)?});
    let template = json!({"spec": pod});
    change(&daemonsets, &json!({"spec": {"template": template}})).await?;
    available(&daemonsets).await?;
    Ok(begin.elapsed().as_secs_f64())
}

fn with_second_image(daemonset: &DaemonSet) -> anyhow::Result<Vec<Container>> {
    let spec = daemonset.spec.as_ref();
    let pod = spec.and_then(|spec| spec.template.spec.as_ref());
    let mut containers = pod.context("a template has a spec")?.containers.clone();
    let first = containers.first_mut().context("it has a container")?;
    first.image = Some(image(2));
    Ok(containers)
}

async fn change<K>(api: &Api<K>, patch: &Value) -> anyhow::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    let patch = Patch::Merge(patch);
    api.patch(NAME, &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn complete(schedexts: &Api<SchedExt>, version: u32) -> anyhow::Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < TIMEOUT {
        let schedext = schedexts.get(NAME).await?;
        let status = schedext.status.unwrap_or_default();
        let good = status.last_good.as_ref();
        let good = good.and_then(|good| good.spec.get("sched"));
        let phase = status.rollout.as_ref().map(|rollout| rollout.phase);
        if phase == Some(RolloutPhase::Complete) && good == Some(&json!(image(version))) {
            return Ok(());
        }
        if matches!(phase, Some(RolloutPhase::RolledBack | RolloutPhase::Failed)) {
            bail!("it went back: {:?}", status.rejected);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("version {version} is not on every node")
}

/// Waits until every node has had the latest template for as long as it must.
async fn available(daemonsets: &Api<DaemonSet>) -> anyhow::Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < TIMEOUT {
        let live = daemonsets.get(NAME).await?;
        let status = live.status.unwrap_or_default();
        let all = i32::try_from(NODES)?;
        if status.observed_generation == live.metadata.generation
            && status.updated_number_scheduled == Some(all)
            && status.number_available == Some(all)
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("the plain DaemonSet is not on every node")
}

fn schedext() -> SchedExt {
    let soak = Some(format!("{SOAK_SECONDS}s"));
    let canary = Canary {
        nodes: Some(IntOrString::String("1%".to_owned())),
        ..Canary::default()
    };
    let spec = SchedExtSpec {
        sched: image(1),
        rollout: Some(Rollout {
            max_unavailable: Some(IntOrString::String(BUDGET.to_owned())),
            soak,
            canary: Some(canary),
            ..Rollout::default()
        }),
        ..SchedExtSpec::default()
    };
    SchedExt::new(NAME, spec)
}

fn image(version: u32) -> String {
    format!("registry.example/scx_lab:{version}")
}
