//! How soon the cluster hears that a kernel let go of a scheduler: from the kernel's own line on
//! the serial console to the node's report, the pod, the SchedExt that says so and the SchedExt
//! that says why, all by this machine's clock. On two nodes with kernels of their own, with sked
//! deployed as an administrator does it.
//!
//! The nodes' processors are emulated, so kubelet and containerd are slow. Each fault therefore
//! meets nodes at rest: what the one before it left behind is not what is measured. Where other
//! virtual machines take this one's processors away, an emulated one stands still: such a sample is
//! told, not counted, and taken again.
//! `SKED` names the program under test.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it shares its ground with the tests"
)]

#[path = "../shared/figures.rs"]
mod figures;
mod heard;
mod machine;
#[path = "../../tests/site.rs"]
mod site;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use heard::Heard;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lab::spec::DEFAULT_KERNEL;
use machine::Machine;
use serde_json::json;
use site::{IMAGE, Site};
use witness::{Said, Witness};

const NODES: [&str; 2] = ["node1", "node2"];
/// How many samples of each fault are counted.
const OF_EACH: usize = 5;
/// How often a fault is tried for that: a machine that is never left alone measures nothing.
const MOST_TRIES: usize = 20;
/// So often in a row kubelet starts a pod's container again without much of a pause.
const OF_EACH_POD: usize = 3;
/// Until the reason is known, or should be.
const ENOUGH: Duration = Duration::from_secs(10);
/// So long after its attach a scheduler does what it was told to do.
const FAULT_AFTER: &str = "60s";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let sked = PathBuf::from(std::env::var_os("SKED").context("SKED names no program")?);
    let site = Site::up("bench-kernel", DEFAULT_KERNEL, NODES.len() as u8, &sked);
    site.deploy();
    for node in NODES {
        // The kernel says on its console when it lets go of a scheduler that was asked to go; and
        // nobody here needs Podman, which takes a twentieth of a processor to do nothing.
        site.node(node)
            .must("dmesg -n 7 && lab-daemon stop podman")?;
    }
    let consoles = NODES.map(|node| (node, site.lab.state().log(node)));
    let course = Course {
        witness: Witness::listen(&client(&site).await?, consoles),
        machine: Machine::watched(),
        site,
    };
    schedule(&course.site, &[]);
    let [one, other] = NODES;
    let mut heard = course.brought_about(one, "pkill -KILL -x scx_lab")?;
    heard.extend(course.brought_about(other, "echo S > /proc/sysrq-trigger")?);
    heard.extend(course.thrown_out("stall", "runnable task stall")?);
    heard.extend(course.thrown_out("scx-error", "scx_bpf_error")?);
    Ok(if heard::judged(&heard)? {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Who looks where while faults happen.
struct Course {
    site: Site,
    witness: Witness,
    machine: Machine,
}

impl Course {
    /// Somebody on a node makes its kernel let go.
    fn brought_about(&self, node: &str, fault: &str) -> anyhow::Result<Vec<Heard>> {
        self.counted(|at| {
            if at > 0 && at % OF_EACH_POD == 0 {
                renew(&self.site, node);
            }
            attached(&self.site);
            sleep(ENOUGH);
            let begin = Instant::now();
            self.site.node(node).must(fault)?;
            sleep(ENOUGH);
            Ok(heard::let_go(&self.witness, node, begin))
        })
    }

    /// The scheduler gives the kernel a reason, again and again, on both nodes.
    fn thrown_out(&self, fault: &str, why: &str) -> anyhow::Result<Vec<Heard>> {
        let begin = Instant::now();
        let words = ["--fault", fault, "--timeout", "2s", "--after", FAULT_AFTER];
        schedule(&self.site, &words);
        self.counted(|at| {
            let said = self.site.until(&format!("{fault} happened"), || {
                let happened = heard::thrown_out(&self.witness, begin, why);
                happened.into_iter().nth(at)
            });
            sleep(ENOUGH);
            Ok(said)
        })
    }

    /// Until there are enough samples that other users of this machine did not disturb.
    fn counted(
        &self,
        mut fault: impl FnMut(usize) -> anyhow::Result<Said>,
    ) -> anyhow::Result<Vec<Heard>> {
        let mut counted = Vec::new();
        for at in 0..MOST_TRIES {
            let said = fault(at)?;
            let heard = self.site.until("everybody heard of it", || {
                heard::heard(&self.witness, &self.machine, &said)
            });
            heard::say_one(&heard)?;
            if heard.counts() {
                counted.push(heard);
            }
            if counted.len() == OF_EACH {
                return Ok(counted);
            }
        }
        anyhow::bail!(
            "others used this machine too much: only {} of {MOST_TRIES} samples count",
            counted.len()
        )
    }
}

/// A new pod on a node: kubelet waits longer each time before it starts the same pod's container
/// again.
fn renew(site: &Site, node: &str) {
    let on_node = format!("--field-selector=spec.nodeName={node}");
    let (label, value) = sked_api::label::ROOT_SCHEDULER;
    let ours = format!("--selector={label}={value}");
    let names = || site.kubectl(&["get", "pods", "-o", "name", &ours, &on_node]);
    let old = names();
    site.kubectl(&["delete", "pod", &ours, &on_node]);
    site.until("a new pod is ready", || {
        let new = names();
        let new = new.trim();
        (!new.is_empty() && new != old.trim()).then(|| {
            site.kubectl(&["wait", "--for=condition=Ready", "--timeout=300s", new]);
        })
    });
}

fn schedule(site: &Site, args: &[&str]) {
    site.schedext("lab", &json!({"sched": IMAGE, "args": args}));
}

fn attached(site: &Site) {
    site.await_condition("lab", "Ready", "True/Attached");
}

/// The administrator, as a program.
async fn client(site: &Site) -> anyhow::Result<Client> {
    let config = site.lab.running().kubeconfig.as_ref();
    let config = Kubeconfig::read_from(config.context("no cluster")?)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
