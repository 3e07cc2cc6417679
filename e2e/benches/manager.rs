//! A thousand SchedExts on a real API server without kubelets: how long until each has its
//! DaemonSet and its status, what that costs, and whether a restart and an idle manager write
//! anything.
//!
//! The second column is a bare loop that makes the same writes with the same concurrency in the
//! same run, or, with `PEER=program`, another operator that keeps the contract.
//! `SKED` names the program under test; `IDLE` how many seconds of idleness are watched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::apps::v1::DaemonSet;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sked_api::{SchedExt, SchedExtSpec};
use sked_plan::daemonset::daemonset;
use sked_plan::part::parts;
use testkit::bench::cluster::{BenchCluster, CONCURRENCY, each};
use testkit::bench::figures::{beside, print, within};
use testkit::bench::operator::Operator;

const COUNT: usize = 1000;
const NAMESPACE: &str = "fleet";
const MOST_OF_BARE: f64 = 1.5;
const MOST_MEGABYTES: f64 = 19.0;
const MOST_PROCESSOR: f64 = 1.3;
const MOST_IDLE_PERCENT: f64 = 0.1;
/// Long enough to see everything and to write whatever would be written.
const SETTLED: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let measurement = Measurement {
        cluster: BenchCluster::up("bench-manager", false).await?,
    };
    measurement.cluster.namespace(NAMESPACE).await?;
    let sked = PathBuf::from(std::env::var_os("SKED").context("SKED names no program")?);
    let args = ["manager", &format!("--concurrency={CONCURRENCY}")];
    let second = match std::env::var_os("PEER").map(PathBuf::from) {
        Some(peer) => ("peer", measurement.operator("peer", &peer, &[]).await?),
        None => ("bare loop", measurement.bare().await?),
    };
    let ours = measurement.operator("sked", &sked, &args).await?;
    let mut met = beside(
        "1,000 SchedExts: DaemonSets and statuses",
        "s",
        ours,
        second,
        MOST_OF_BARE,
    )?;
    met &= measurement.again(&sked, &args).await?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Measurement {
    cluster: BenchCluster,
}

impl Measurement {
    fn schedexts(&self) -> Api<SchedExt> {
        Api::namespaced(self.cluster.client.clone(), NAMESPACE)
    }

    fn daemonsets(&self) -> Api<DaemonSet> {
        Api::namespaced(self.cluster.client.clone(), NAMESPACE)
    }

    async fn fill(&self) -> anyhow::Result<()> {
        let spec = SchedExtSpec {
            sched: "registry.example/scx_rusty:1.1.4".to_owned(),
            ..SchedExtSpec::default()
        };
        let all: Vec<SchedExt> = (0..COUNT)
            .map(|number| SchedExt::new(&format!("scx-{number:04}"), spec.clone()))
            .collect();
        self.cluster.create(&self.schedexts(), &all).await
    }

    async fn empty(&self) -> anyhow::Result<()> {
        self.cluster.clear(&self.schedexts()).await?;
        self.cluster.clear(&self.daemonsets()).await
    }

    /// The same writes without an operator: what the API server itself needs.
    async fn bare(&self) -> anyhow::Result<f64> {
        self.fill().await?;
        let all = self.schedexts().list(&ListParams::default()).await?.items;
        let (schedexts, daemonsets) = (self.schedexts(), self.daemonsets());
        let begin = Instant::now();
        stream::iter(&all)
            .map(|one| async {
                for part in parts(one) {
                    let made = daemonset(&part);
                    daemonsets.create(&PostParams::default(), &made).await?;
                }
                let status = Patch::Merge(json!({"status": status()}));
                let name = one.name_any();
                schedexts
                    .patch_status(&name, &PatchParams::default(), &status)
                    .await?;
                anyhow::Ok(())
            })
            .buffer_unordered(CONCURRENCY)
            .try_collect::<()>()
            .await?;
        let took = begin.elapsed().as_secs_f64();
        self.empty().await?;
        Ok(took)
    }

    /// An operator that finds a thousand SchedExts when it starts.
    async fn operator(&self, name: &str, program: &Path, args: &[&str]) -> anyhow::Result<f64> {
        self.fill().await?;
        let begin = Instant::now();
        let mut operator = self.start(name, program, args)?;
        let what = "every SchedExt has its DaemonSet";
        let made = each(what, COUNT, self.daemonsets(), |_| true);
        operator.while_running(made).await?;
        let made = begin.elapsed().as_secs_f64();
        print(&format!("{name}: 1,000 DaemonSets after {made:.2} s"))?;
        let ours = name == "sked";
        if ours {
            let what = "every SchedExt has its status";
            let has_status = |one: &SchedExt| one.status.is_some();
            let reported = each(what, COUNT, self.schedexts(), has_status);
            operator.while_running(reported).await?;
        }
        let took = begin.elapsed().as_secs_f64();
        let (memory, processor) = (operator.peak_megabytes()?, operator.processor()?);
        if ours {
            within("peak memory", "MB", memory, MOST_MEGABYTES)?;
            within(
                "processor time",
                "s",
                processor.as_secs_f64(),
                MOST_PROCESSOR,
            )?;
        } else {
            let processor = processor.as_secs_f64();
            print(&format!(
                "{name}: {memory:.1} MB, {processor:.2} s of processor time"
            ))?;
            drop(operator);
            self.empty().await?;
            return Ok(took);
        }
        operator.stop()?;
        Ok(took)
    }

    /// A restart over an unchanged cluster, and idleness after it.
    async fn again(&self, program: &Path, args: &[&str]) -> anyhow::Result<bool> {
        let before = self.quiet().await?;
        let operator = self.start("sked-again", program, args)?;
        tokio::time::sleep(SETTLED).await;
        let after = self.cluster.writes().await?;
        let mut met = unwritten("writes after a restart", &before, &after)?;
        let idle = std::env::var("IDLE").ok();
        let idle = idle.as_deref().unwrap_or("600").parse::<u64>()?;
        let used = operator.processor()?;
        tokio::time::sleep(Duration::from_secs(idle)).await;
        let last = self.cluster.writes().await?;
        met &= unwritten("writes when idle", &after, &last)?;
        let used = (operator.processor()? - used).as_secs_f64() / idle as f64 * 100.0;
        met &= within(
            &format!("processor when idle ({idle} s)"),
            "%",
            used,
            MOST_IDLE_PERCENT,
        )?;
        operator.stop()?;
        Ok(met)
    }

    /// Waits until nobody writes any more: Kubernetes' own controllers write events and statuses of a
    /// thousand new DaemonSets for a while after the operator has ended.
    async fn quiet(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let mut before = self.cluster.writes().await?;
        loop {
            tokio::time::sleep(SETTLED).await;
            let after = self.cluster.writes().await?;
            if after == before {
                return Ok(after);
            }
            before = after;
        }
    }

    fn start(&self, name: &str, program: &Path, args: &[&str]) -> anyhow::Result<Operator> {
        let log = self.cluster.lab.state().path(&format!("{name}.log"));
        Operator::start(program, args, &self.cluster.kubeconfig()?, &log)
    }
}

/// As large as one of ours.
fn status() -> Value {
    let condition = |name: &str| {
        json!({
            "type": name, "status": "Unknown", "reason": "NoKernelReport",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
            "message": "nobody on the nodes reports what the kernel says",
        })
    };
    let conditions = ["Ready", "Progressing", "Degraded", "Conflicted"].map(condition);
    json!({
        "observedGeneration": 1,
        "revision": "0123456789abcdef",
        "counts": {"desired": 0, "conflicted": 0},
        "conditions": conditions,
    })
}

/// Prints how much was written between two counts, and what.
fn unwritten(
    name: &str,
    before: &BTreeMap<String, u64>,
    after: &BTreeMap<String, u64>,
) -> anyhow::Result<bool> {
    let old = |name: &String| before.get(name).copied().unwrap_or_default();
    let written: BTreeMap<_, _> = after
        .iter()
        .map(|(name, count)| (name, count - old(name)))
        .filter(|(_, count)| *count > 0)
        .collect();
    if !written.is_empty() {
        print(&format!("{name}: {written:?}"))?;
    }
    within(name, "", written.values().sum::<u64>() as f64, 0.0)
}
