//! `make bench`: how long the lab's topologies take to start with a full cache, and how long a kernel
//! takes to attach a scheduler. Figures of one run on one machine; compare their ratios.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use lab::{Lab, LabSpec, Topology};

const SAMPLES: u32 = 10;

fn main() -> anyhow::Result<()> {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.lab");
    let up = |topology| {
        let started = Instant::now();
        let lab = Lab::up(&LabSpec::new("bench", topology, &labs), |_| {})?;
        anyhow::Ok((lab, started.elapsed()))
    };
    let (_, control_plane) = up(Topology::ControlPlane)?;
    row("control plane ready", control_plane)?;
    let (machine, booted) = up(Topology::Machine)?;
    row("ssh reaches a machine", booted)?;
    let command = mean(|| run(&machine, "true"))?;
    row("command on a node", command)?;
    row("scx_lab attached", attach(&machine)?)?;
    drop(machine);
    let (_, cluster) = up(Topology::Cluster)?;
    row("node Ready in a cluster", cluster)?;
    let ratio = cluster.as_secs_f64() / booted.as_secs_f64();
    writeln!(std::io::stdout(), "{:28} {ratio:8.1}", "cluster / machine")?;
    Ok(())
}

/// From the start of the container until sysfs on the node shows `enabled`.
fn attach(lab: &Lab) -> anyhow::Result<Duration> {
    let image = "registry.lab:5000/scx_lab:latest";
    run(lab, &format!("podman pull -q {image}"))?;
    let started = Instant::now();
    run(
        lab,
        &format!(
            "podman run --detach --name bench --privileged --pid=host {image} >/dev/null; \
             until [ \"$(cat /sys/kernel/sched_ext/state)\" = enabled ]; do sleep 0.02; done"
        ),
    )?;
    let attached = started.elapsed();
    run(lab, "podman rm --force --time 30 bench")?;
    Ok(attached)
}

fn run(lab: &Lab, script: &str) -> anyhow::Result<()> {
    let output = lab.node("node1")?.shell(script)?;
    ensure!(output.status == 0, "{script}: {}", output.stderr);
    Ok(())
}

fn mean(mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let started = Instant::now();
    for _ in 0..SAMPLES {
        work()?;
    }
    Ok(started.elapsed() / SAMPLES)
}

fn row(what: &str, time: Duration) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{what:28} {:8.2} s", time.as_secs_f64())?;
    Ok(())
}
