//! How soon the cluster hears that a kernel let go of a scheduler: from the kernel's own line on
//! the serial console to the node's report, the pod, the SchedExt that says so and the SchedExt
//! that says why, all by this machine's clock. On two nodes with kernels of their own, with sked
//! deployed as an administrator does it.
//!
//! The nodes' processors are emulated, so kubelet and containerd are slow. Each fault therefore
//! meets a node at rest: what the one before it left behind is not what is measured.
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
#[path = "../../tests/site.rs"]
mod site;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lab::ground::DEFAULT_KERNEL;
use serde_json::json;
use site::{IMAGE, Site};
use witness::{Said, Witness};

const NODES: [&str; 2] = ["node1", "node2"];
const OF_EACH: usize = 5;
/// Until the reason is known, or should be.
const ENOUGH: Duration = Duration::from_secs(10);
/// So long after its attach a scheduler does what it was told to do. The other node's, which the
/// roll-out brought half as much later, is at rest then, and so it stays from fault to fault.
const FAULT_AFTER: &str = "60s";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let sked = PathBuf::from(std::env::var_os("SKED").context("SKED names no program")?);
    let site = Site::up("bench-kernel", DEFAULT_KERNEL, NODES.len() as u8, &sked);
    site.deploy();
    for node in NODES {
        // The kernel says on its console when it lets go of a scheduler that was asked to go.
        site.node(node).must("dmesg -n 7")?;
    }
    let consoles = NODES.map(|node| (node, site.lab.state().log(node)));
    let witness = Witness::listen(&client(&site).await?, consoles);

    schedule(&site, &[]);
    attached(&site);
    let mut gone = killed_and_asked_to_go(&site, &witness)?;
    for (fault, why) in [
        ("stall", "runnable task stall"),
        ("scx-error", "scx_bpf_error"),
    ] {
        gone.extend(thrown_out(&site, &witness, fault, why));
    }
    let met = heard::judged(&heard::heard(&witness, &gone))?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Its process is killed on one node, and SysRq asks the other's kernel to let it go. Kubelet
/// waits longer each time before it starts the same pod's container again.
fn killed_and_asked_to_go(site: &Site, witness: &Witness) -> anyhow::Result<Vec<Said>> {
    let [one, other] = NODES;
    let faults = [
        (one, "pkill -KILL -x scx_lab"),
        (other, "echo S > /proc/sysrq-trigger"),
    ];
    let mut gone = Vec::new();
    for _ in 0..OF_EACH {
        sleep(ENOUGH);
        for (node, fault) in faults {
            let begin = Instant::now();
            site.node(node).must(fault)?;
            sleep(ENOUGH);
            gone.push(heard::let_go(witness, node, begin));
        }
        attached(site);
    }
    Ok(gone)
}

/// The scheduler gives the kernel a reason, again and again, on both nodes.
fn thrown_out(site: &Site, witness: &Witness, fault: &str, why: &str) -> Vec<Said> {
    let begin = Instant::now();
    let words = ["--fault", fault, "--timeout", "2s", "--after", FAULT_AFTER];
    schedule(site, &words);
    let happened = || heard::thrown_out(witness, begin, why);
    for count in 1..=OF_EACH {
        site.until(&format!("{fault} happened ({count})"), || {
            (happened().len() >= count).then_some(())
        });
    }
    sleep(ENOUGH);
    let mut gone = happened();
    gone.truncate(OF_EACH);
    gone
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
