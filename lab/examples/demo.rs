//! `make demo`: a node boots, a scheduler runs on it as a pod, and the kernel is asked before,
//! during and after. Then schedctl does it on the node itself, and goes back from a scheduler that
//! stalls.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use lab::static_program::{self, Profile};
use lab::{Event, Ground, Host, Lab, Order};

const MANIFEST: &str = include_str!("demo.yaml");
const PATIENCE: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    match demo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "demo: {}", lab::sentence(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn demo() -> anyhow::Result<()> {
    title("A node with its own kernel joins a real Kubernetes")?;
    let program = static_program::build("schedctl", Profile::Debug)?;
    let order = Order {
        ground: Ground::Cluster,
        ..Host::order("demo", Path::new(".lab"))
    };
    let lab = Lab::up(&order, show)?;
    pod(&lab)?;
    title("The same node without Kubernetes: schedctl, and images that the lab signed")?;
    machine(&Host::ready(lab, &program)?)
}

/// A scheduler as a pod.
fn pod(lab: &Lab) -> anyhow::Result<()> {
    kubectl(lab, &["get", "nodes", "-o", "wide"])?;

    title("Before: the kernel runs its own scheduler")?;
    kernel(lab)?;

    title("A scheduler runs on the node as a pod")?;
    apply(lab)?;
    await_state(lab, "enabled")?;
    kubectl(lab, &["get", "pods", "-o", "wide"])?;

    title("During: the kernel has it attached")?;
    kernel(lab)?;
    kubectl(lab, &["logs", "daemonset/scx-lab"])?;

    title("The pod goes")?;
    kubectl(lab, &["delete", "daemonset", "scx-lab"])?;
    await_state(lab, "disabled")?;

    title("After: the kernel is back on its own scheduler")?;
    kernel(lab)?;
    on_node(lab, "dmesg | grep sched_ext")
}

/// A scheduler as schedctl runs it.
fn machine(host: &Host) -> anyhow::Result<()> {
    schedctl(host, "doctor", 0)?;
    schedctl(host, "run scx_lab", 0)?;
    schedctl(host, "status", 0)?;
    schedctl(host, "switch scx_bpfland", 0)?;

    title("The next one stalls on order: the kernel throws it out, and schedctl goes back")?;
    let stall = "switch scx_lab --probation 60s -- --fault stall --timeout 2s";
    schedctl(host, stall, 4)?;
    schedctl(host, "status", 0)?;
    schedctl(host, "stop scx_bpfland", 0)?;
    kernel(host.lab())
}

fn schedctl(host: &Host, words: &str, code: i32) -> anyhow::Result<()> {
    say(&format!("\nnode1 # schedctl {words}"))?;
    let said = host.schedctl(&words.split(' ').collect::<Vec<_>>())?;
    say(said.words().trim_end())?;
    ensure!(
        said.status == code,
        "schedctl {words} ended with {}",
        said.status
    );
    Ok(())
}

fn show(event: &Event) {
    let line = match event {
        Event::Started { what, .. } => format!("  {what} …"),
        Event::Finished { millis, .. } => {
            format!("    {}.{} s", millis / 1000, millis % 1000 / 100)
        }
        Event::Ready { .. } | Event::Failed { .. } => return,
    };
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The kernel's own state, nobody's opinion of it.
fn kernel(lab: &Lab) -> anyhow::Result<()> {
    on_node(
        lab,
        "cd /sys/kernel/sched_ext && grep -H . state enable_seq nr_rejected root/ops 2>/dev/null; true",
    )
}

fn await_state(lab: &Lab, wanted: &str) -> anyhow::Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let said = lab
            .node("node1")?
            .run(&["cat", "/sys/kernel/sched_ext/state"])?;
        if said.out.trim() == wanted {
            return say(&format!(
                "  the kernel says {wanted} after {:.1} s",
                begin.elapsed().as_secs_f32()
            ));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the kernel does not say {wanted:?} after {PATIENCE:?}: see .lab/demo/logs")
}

fn on_node(lab: &Lab, script: &str) -> anyhow::Result<()> {
    say(&format!("node1 # {script}"))?;
    let said = lab.node("node1")?.shell(script)?;
    say(said.out.trim_end())
}

fn kubectl(lab: &Lab, words: &[&str]) -> anyhow::Result<()> {
    say(&format!("$ kubectl {}", words.join(" ")))?;
    ensure!(
        lab.kubectl()?.args(words).status()?.success(),
        "kubectl failed"
    );
    Ok(())
}

fn apply(lab: &Lab) -> anyhow::Result<()> {
    say("$ kubectl apply -f lab/examples/demo.yaml")?;
    let mut kubectl: Command = lab.kubectl()?;
    let mut kubectl = kubectl
        .args(["apply", "-f", "-"])
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = kubectl.stdin.take() {
        input.write_all(MANIFEST.as_bytes())?;
    }
    ensure!(kubectl.wait()?.success(), "kubectl apply failed");
    Ok(())
}

fn title(text: &str) -> anyhow::Result<()> {
    let (bold, plain) = if std::io::stdout().is_terminal() {
        ("\x1b[1m", "\x1b[0m")
    } else {
        ("", "")
    };
    say(&format!("\n{bold}== {text}{plain}"))
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
