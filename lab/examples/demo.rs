//! `make demo`: a node boots, a scheduler runs on it as a pod, and the kernel is asked before,
//! during and after.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use lab::{Event, Ground, Lab, Order};

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
    let lab = Lab::up(
        &Order::new("demo", Ground::Cluster, Path::new(".lab")),
        show,
    )?;
    kubectl(&lab, &["get", "nodes", "-o", "wide"])?;

    title("Before: the kernel runs its own scheduler")?;
    kernel(&lab)?;

    title("A scheduler runs on the node as a pod")?;
    apply(&lab)?;
    await_state(&lab, "enabled")?;
    kubectl(&lab, &["get", "pods", "-o", "wide"])?;

    title("During: the kernel has it attached")?;
    kernel(&lab)?;
    kubectl(&lab, &["logs", "daemonset/scx-lab"])?;

    title("The pod goes")?;
    kubectl(&lab, &["delete", "daemonset", "scx-lab"])?;
    await_state(&lab, "disabled")?;

    title("After: the kernel is back on its own scheduler")?;
    kernel(&lab)?;
    on_node(&lab, "dmesg | grep sched_ext")
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
