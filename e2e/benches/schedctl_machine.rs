//! `schedctl run` against plain `podman run` of the same image, from the command to the attach in
//! the kernel's log, and the gap that a `switch` leaves against the scheduler's own time to attach. In one
//! virtual machine, by its kernel's clock, interleaved. Fails when ours takes more than 1.1 times
//! as long as Podman, or leaves a gap of more than 1.2 times the attach.
//!
//! Podman is told what the contract asks for (privileged, the host's processes, `/boot`,
//! `/var/run/scx`) and, as we do, to make no network. Both have the image already; ours asks the
//! registry for the digest and the signature each time all the same, and Podman verifies nothing.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::{Lab, LabSpec, Node, SchedctlHost, Scheduler};
use serde_json::Value;
use testkit::bench::command::{median, program};
use testkit::bench::figures::beside;

const RUNS: usize = 10;
// With five of each the medians of two runs lay further apart than what is asked for.
const SWITCHES: usize = 15;
const MOST_OF_PODMAN: f64 = 1.1;
const MOST_OF_ATTACH: f64 = 1.2;
const TIMEOUT: Duration = Duration::from_secs(120);
const PODMAN: &str = "podman run --detach --name bench --privileged --pid=host --network=none \
     --volume /boot:/boot:ro --volume /var/run/scx:/var/run/scx";
const ENABLED: &str = "\" enabled";
const DISABLED: &str = "\" disabled";

fn main() -> anyhow::Result<ExitCode> {
    let spec = LabSpec {
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..SchedctlHost::spec("bench-schedctl", &testkit::program::labs())
    };
    let lab = Lab::up(&spec, |_| {})?;
    let host = SchedctlHost::set_up(lab, &program()?)?;
    let bench = Bench {
        host: &host,
        node: host.node()?,
    };
    let mut met = bench.run()?;
    for driver in ["podman", "containerd"] {
        met &= bench.switch(driver, "scx_lab", "scx_bpfland")?;
    }
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Bench<'a> {
    host: &'a SchedctlHost,
    node: Node<'a>,
}

impl Bench<'_> {
    fn run(&self) -> anyhow::Result<bool> {
        let image = self.host.reference("scx_lab:latest");
        self.node.must("mkdir -p /var/run/scx")?;
        let podman = format!("podman pull -q {image}; schedctl pull scx_lab");
        self.node.must(&podman)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        // The first of each warms caches.
        for round in 0..=RUNS {
            let our = self.attach("schedctl run scx_lab")?;
            self.end("schedctl stop scx_lab")?;
            let their = self.attach(&format!("{PODMAN} {image}"))?;
            self.end("podman rm --force --time 30 bench")?;
            if round > 0 {
                ours.push(our);
                theirs.push(their);
            }
        }
        let podman = ("podman run", median(theirs));
        beside(
            "run to attached",
            "ms",
            median(ours),
            podman,
            MOST_OF_PODMAN,
        )
    }

    fn switch(&self, driver: &str, one: &str, other: &str) -> anyhow::Result<bool> {
        let mut figures = [one, other].map(|name| (name, Vec::new(), Vec::new()));
        let mut kernel_gaps = Vec::new();
        for name in [one, other] {
            self.node
                .must(&format!("schedctl -d {driver} pull {name}"))?;
        }
        for _ in 0..SWITCHES {
            for (name, attaches, gaps) in &mut figures {
                let competitor = if *name == one { other } else { one };
                attaches.push(self.milliseconds(&["-d", driver, "run", name], "attach_ms")?);
                self.end(&format!("schedctl -d {driver} stop {name}"))?;
                self.milliseconds(&["-d", driver, "run", competitor], "attach_ms")?;
                let mark = self.node.mark("switch")?;
                let args = ["-d", driver, "switch", name, "--probation", "0s"];
                gaps.push(self.milliseconds(&args, "gap_ms")?);
                let gone = self.node.await_kernel(&mark, DISABLED, TIMEOUT)?;
                let there = self.node.await_kernel(&gone, ENABLED, TIMEOUT)?;
                kernel_gaps.push((*name, milliseconds(there.at - gone.at)));
                self.end(&format!("schedctl -d {driver} stop {name}"))?;
            }
        }
        let mut met = true;
        for (name, attaches, gaps) in figures {
            let own = ("its attach", median(attaches));
            let what = format!("gap, {driver}, {name}");
            met &= beside(&what, "ms", median(gaps), own, MOST_OF_ATTACH)?;
            let kernel = kernel_gaps.iter().filter(|(whose, _)| *whose == name);
            let kernel = median(kernel.map(|(_, gap)| *gap).collect());
            writeln!(
                std::io::stdout(),
                "{what:26} by the kernel's log {kernel:.1} ms"
            )?;
        }
        Ok(met)
    }

    /// From a command's start to the attach in the kernel's log, in milliseconds. The mark is made in the same
    /// shell: no connection's time is in it.
    fn attach(&self, command: &str) -> anyhow::Result<f64> {
        let before = self.node.mark("before")?;
        self.node
            .must(&format!("echo 'lab: begin' >/dev/kmsg; {command}"))?;
        let begin = self.node.await_kernel(&before, "lab: begin", TIMEOUT)?;
        let there = self.node.await_kernel(&begin, ENABLED, TIMEOUT)?;
        Ok(milliseconds(there.at - begin.at))
    }

    /// Ends a scheduler and waits for the kernel to detach it.
    fn end(&self, command: &str) -> anyhow::Result<()> {
        self.node.must(command)?;
        self.node.must("schedctl wait --detached --timeout 60s")?;
        Ok(())
    }

    /// A field of schedctl's document.
    fn milliseconds(&self, args: &[&str], field: &str) -> anyhow::Result<f64> {
        let output = self.host.schedctl(&[args, &["-o", "json"]].concat())?;
        ensure!(output.status == 0, "schedctl {args:?}: {}", output.text());
        let document: Value = serde_json::from_str(&output.stdout)?;
        document[field]
            .as_f64()
            .with_context(|| format!("no {field} in {document}"))
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
