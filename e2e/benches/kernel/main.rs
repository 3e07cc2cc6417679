//! How soon the cluster shows that a kernel detached a scheduler: from the kernel's own line on the
//! serial console to the node's report, the pod, the SchedExt that reports it detached and the
//! SchedExt that has the reason; and how soon a roll-out goes back. All by this machine's clock. On two nodes with kernels of their
//! own, with sked deployed as an administrator does it.
//!
//! The nodes' processors are emulated, so kubelet and containerd are slow. Each fault therefore
//! begins with idle nodes: what the one before it left to do is not measured. When other virtual
//! machines use this one's processors, an emulated one stands still: such a sample is printed, not
//! counted, and taken again.
//! `SKED` names the program under test.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it uses the fixtures of the tests"
)]

mod delays;
mod recorder;
mod rollback;
mod stolen_time;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use delays::Delays;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lab::spec::DEFAULT_KERNEL;
use recorder::{Record, Recorder};
use serde_json::json;
use stolen_time::StolenTime;
use testkit::NodeCluster;
use testkit::node_cluster::{ATTACHED, SYSRQ, spec};
use testkit::nodes::NODES;

/// How many samples of each fault are counted.
const SAMPLES: usize = 5;
/// How often a fault is tried for that: a machine that is always busy measures nothing.
const MAX_TRIES: usize = 20;
/// So often in a row kubelet restarts a pod's container without a long back-off.
const RESTARTS_OF_A_POD: usize = 3;
/// Until the reason is known, or should be.
const PAUSE: Duration = Duration::from_secs(10);
/// When scx_lab does what it was ordered to do, counted from its attach.
const FAULT_AFTER: &str = "60s";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let sked = PathBuf::from(std::env::var_os("SKED").context("SKED names no program")?);
    let cluster = NodeCluster::up("bench-kernel", DEFAULT_KERNEL, NODES.len() as u8, &sked);
    cluster.deploy();
    for node in NODES {
        // The kernel prints on its console when it detaches a scheduler that exited by itself; and
        // nothing here needs Podman, whose idle service uses a twentieth of a processor.
        cluster
            .node(node)
            .must("dmesg -n 7 && lab-daemon stop podman")?;
    }
    let consoles = NODES.map(|node| (node, cluster.lab().state().log(node)));
    let bench = Bench {
        recorder: Recorder::start(&client(&cluster).await?, consoles),
        stolen_time: StolenTime::start(),
        cluster,
    };
    bench.schedule(&[]);
    let [first, second] = NODES;
    let mut delays = bench.fault_on_node(first, "pkill -KILL -x scx_lab")?;
    delays.extend(bench.fault_on_node(second, SYSRQ)?);
    delays.extend(bench.fault_of_scheduler("stall", "runnable task stall")?);
    delays.extend(bench.fault_of_scheduler("scx-error", "scx_bpf_error")?);
    let met = delays::summarize(&delays);
    Ok(if rollback::measure(&bench)? && met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Bench {
    cluster: NodeCluster,
    recorder: Recorder,
    stolen_time: StolenTime,
}

impl Bench {
    /// Runs a command on a node that makes its kernel detach the scheduler.
    fn fault_on_node(&self, node: &str, fault: &str) -> anyhow::Result<Vec<Delays>> {
        self.samples(|try_number| {
            if try_number > 0 && try_number % RESTARTS_OF_A_POD == 0 {
                self.replace_pod(node);
            }
            self.cluster.await_condition("lab", "Ready", ATTACHED);
            sleep(PAUSE);
            let begin = Instant::now();
            self.cluster.node(node).must(fault)?;
            sleep(PAUSE);
            Ok(delays::detached(&self.recorder, node, begin))
        })
    }

    /// The scheduler makes the kernel eject it, again and again, on both nodes.
    fn fault_of_scheduler(&self, fault: &str, reason: &str) -> anyhow::Result<Vec<Delays>> {
        let begin = Instant::now();
        let args = ["--fault", fault, "--timeout", "2s", "--after", FAULT_AFTER];
        self.schedule(&args);
        self.samples(|try_number| {
            let record = self.cluster.until(&format!("{fault} happened"), || {
                let ejections = delays::ejections(&self.recorder, begin, reason);
                ejections.into_iter().nth(try_number)
            });
            sleep(PAUSE);
            Ok(record)
        })
    }

    /// Tries a fault until there are enough samples that other users of this machine did not
    /// disturb.
    fn samples(
        &self,
        mut fault: impl FnMut(usize) -> anyhow::Result<Record>,
    ) -> anyhow::Result<Vec<Delays>> {
        let mut counted = Vec::new();
        for try_number in 0..MAX_TRIES {
            let record = fault(try_number)?;
            let delays = self.cluster.until("everything shows it", || {
                Delays::since(&record, &self.recorder, &self.stolen_time)
            });
            delays.print();
            if delays.counts() {
                counted.push(delays);
            }
            if counted.len() == SAMPLES {
                return Ok(counted);
            }
        }
        anyhow::bail!(
            "others used this machine too much: only {} of {MAX_TRIES} samples count",
            counted.len()
        )
    }

    /// A new pod on a node: kubelet waits longer each time before it restarts the same pod's
    /// container.
    fn replace_pod(&self, node: &str) {
        let cluster = &self.cluster;
        let on_node = format!("--field-selector=spec.nodeName={node}");
        let (label, value) = sked_api::label::ROOT_SCHEDULER;
        let ours = format!("--selector={label}={value}");
        let names = || cluster.kubectl(&["get", "pods", "-o", "name", &ours, &on_node]);
        let old = names();
        cluster.kubectl(&["delete", "pod", &ours, &on_node]);
        cluster.until("a new pod is ready", || {
            let new = names();
            let new = new.trim();
            (!new.is_empty() && new != old.trim()).then(|| {
                cluster.kubectl(&["wait", "--for=condition=Ready", "--timeout=300s", new]);
            })
        });
    }

    /// The same faults again and again, and no roll-out that goes back or node that is quarantined.
    fn schedule(&self, args: &[&str]) {
        let mut spec = spec(args);
        spec["onFailure"] = json!({"action": "Restart"});
        self.cluster.apply_schedext("lab", &spec);
    }
}

/// A client with the administrator's rights.
async fn client(cluster: &NodeCluster) -> anyhow::Result<Client> {
    let config = Kubeconfig::read_from(cluster.admin_kubeconfig())?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
