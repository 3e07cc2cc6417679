//! The gap of a native roll on a node, by its kernel's log: from the line that the old scheduler is
//! detached to the line that the new one is attached. For today's pod template, and for the same
//! with a pod network and the anti-affinity of earlier ones, interleaved, on one emulated node
//! without a manager. Fails when today's gap is longer.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::apps::v1::DaemonSet;
use lab::spec::DEFAULT_KERNEL;
use sked_api::{SchedExt, SchedExtSpec};
use sked_plan::daemonset::daemonset;
use sked_plan::part::parts;
use testkit::NodeCluster;
use testkit::bench::command::median;
use testkit::bench::exclusion::Exclusion;
use testkit::bench::figures::{beside, print};
use testkit::node_cluster::{NAMESPACE, SCX_LAB};

const ROLLS: usize = 10;
const TIMEOUT: Duration = Duration::from_secs(400);
const ENABLED: &str = "\" enabled";
const DISABLED: &str = "\" disabled";

fn main() -> anyhow::Result<ExitCode> {
    let sked = PathBuf::from(std::env::var_os("SKED").context("SKED names no program")?);
    let cluster = NodeCluster::up("bench-roll-gap", DEFAULT_KERNEL, 1, &sked);
    let (mut before, mut today) = (Vec::new(), Vec::new());
    for round in 0..=ROLLS {
        for (kind, gaps) in [
            (Exclusion::AntiAffinity, &mut before),
            (Exclusion::HostPort, &mut today),
        ] {
            let gap = roll(&cluster, kind)?;
            print(&format!("{kind:?}: {gap:.0} ms"))?;
            // The first of each warms caches.
            if round > 0 {
                gaps.push(gap);
            }
        }
    }
    let with_anti_affinity = ("before", median(before));
    let met = beside(
        "gap of a roll",
        "ms",
        median(today),
        with_anti_affinity,
        1.0,
    )?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Starts a DaemonSet of this kind, changes its template and returns the gap in milliseconds.
fn roll(cluster: &NodeCluster, kind: Exclusion) -> anyhow::Result<f64> {
    let node = cluster.node("node1");
    let mark = node.mark("start")?;
    cluster.apply(&serde_json::to_value(scheduler(kind, "old")?)?);
    let start = node.await_kernel(&mark, ENABLED, TIMEOUT)?;
    cluster.apply(&serde_json::to_value(scheduler(kind, "new")?)?);
    let gone = node.await_kernel(&start, DISABLED, TIMEOUT)?;
    let there = node.await_kernel(&gone, ENABLED, TIMEOUT)?;
    cluster.kubectl(&["delete", "daemonset", "--all", "-n", NAMESPACE]);
    cluster.kubectl(&["wait", "--for=delete", "pod", "--all", "-n", NAMESPACE]);
    node.await_kernel(&there, DISABLED, TIMEOUT)?;
    Ok((there.at - gone.at).as_secs_f64() * 1000.0)
}

fn scheduler(kind: Exclusion, name: &str) -> anyhow::Result<DaemonSet> {
    let spec = SchedExtSpec {
        sched: SCX_LAB.to_owned(),
        args: vec!["--name".to_owned(), name.to_owned()],
        ..SchedExtSpec::default()
    };
    let mut schedext = SchedExt::new("roll", spec);
    schedext.metadata.namespace = Some(NAMESPACE.to_owned());
    schedext.metadata.uid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    let part = parts(&schedext).next().context("a SchedExt has a part")?;
    let mut made = daemonset(&part);
    made.metadata.owner_references = None;
    kind.apply(&mut made)?;
    Ok(made)
}
