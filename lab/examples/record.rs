//! Writes down what real schedulers say last on real kernels, for the tests of `schedkit-core`:
//! `cargo build -p lab && cargo run -p lab --example record 6.16 7.2`.
//!
//! Each row of [`RECORDINGS`] is one container, run as the contract says and ended in its own way.
//! The files are named after kernel, scheduler and its version; see the README beside them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use lab::{Lab, LabSpec, Node, Scheduler, Topology};

/// One scheduler's end.
struct Recording {
    /// The file's name: scheduler, version, end.
    name: &'static str,
    /// How podman is asked.
    container: &'static str,
    /// Image and arguments.
    image: &'static str,
    /// What is done to it while it runs; then its output is taken.
    then: &'static str,
}

const USUAL: &str = "--privileged --pid=host --network=host --volume /boot:/boot:ro";
const NO_BOOT: &str = "--privileged --pid=host --network=host";
const UNPRIVILEGED: &str = "--network=host --volume /boot:/boot:ro";

const END: &str = "podman wait r";
const STOP: &str = "attached; podman stop --time 30 r";
const BRAKE: &str = "attached; echo S >/proc/sysrq-trigger; podman wait r";
const HOTPLUG: &str = "attached; hotplug 0";
const HOTPLUG_STOP: &str = "attached; hotplug 0; hotplug 1; podman stop --time 30 r";

/// What the steps above are made of. A scheduler that comes back after a hotplug counts up. The
/// second is for its own words, which come a moment after the kernel's.
const WORDS: &str = r#"
seq() { cat /sys/kernel/sched_ext/enable_seq; }
attached() {
	until grep -qx enabled /sys/kernel/sched_ext/state; do sleep 0.1; done
	sleep 1
}
hotplug() {
	local before=$(seq)
	echo "$1" >/sys/devices/system/cpu/cpu1/online
	until [ "$(seq)" -gt "$before" ]; do sleep 0.1; done
	attached
}
"#;

macro_rules! recordings {
    ($($name:literal: $container:ident, $image:literal, $then:ident;)*) => {
        &[$(Recording { name: $name, container: $container, image: $image, then: $then }),*]
    };
}

const RECORDINGS: &[Recording] = recordings! {
    "scx_lab-1.0.0-stopped": USUAL, "scx_lab:1.0.0", STOP;
    "scx_lab-1.0.0-sysrq": USUAL, "scx_lab:1.0.0", BRAKE;
    "scx_lab-1.0.0-hotplug": USUAL, "scx_lab:1.0.0", HOTPLUG;
    "scx_lab-1.0.0-hotplug-stopped": USUAL, "scx_lab:1.0.0", HOTPLUG_STOP;
    "scx_lab-1.0.0-stall": USUAL, "scx_lab:1.0.0 --fault stall --timeout 2s", END;
    "scx_lab-1.0.0-scx-error": USUAL, "scx_lab:1.0.0 --fault scx-error", END;
    "scx_lab-1.0.0-runtime-error": USUAL, "scx_lab:1.0.0 --fault runtime-error", END;
    "scx_lab-1.0.0-bpf-exit": USUAL, "scx_lab:1.0.0 --fault bpf-exit", END;
    "scx_lab-1.0.0-verifier": USUAL, "scx_lab:1.0.0 --fault verifier", END;
    "scx_lab-1.0.0-refuse": USUAL, "scx_lab:1.0.0 --fault refuse", END;
    "scx_lab-1.0.0-exit": USUAL, "scx_lab:1.0.0 --fault exit --after 1s", END;
    "scx_lab-1.0.0-permission": UNPRIVILEGED, "scx_lab:1.0.0", END;
    "scx_lab-1.0.0-usage": USUAL, "scx_lab:1.0.0 --slce-us 7", END;
    "scx_bpfland-1.1.4-stopped": USUAL, "scx_bpfland:1.1.4", STOP;
    "scx_bpfland-1.1.4-sysrq": USUAL, "scx_bpfland:1.1.4", BRAKE;
    "scx_bpfland-1.1.4-hotplug": USUAL, "scx_bpfland:1.1.4", HOTPLUG;
    "scx_bpfland-1.1.4-kconfig": NO_BOOT, "scx_bpfland:1.1.4", END;
    "scx_bpfland-1.1.4-kconfig-verbose": NO_BOOT, "scx_bpfland:1.1.4 --verbose", END;
    "scx_bpfland-1.1.4-permission": UNPRIVILEGED, "scx_bpfland:1.1.4", END;
    "scx_bpfland-1.1.4-usage": USUAL, "scx_bpfland:1.1.4 --slce-us 7", END;
};

/// The same while another scheduler holds the kernel.
const SECOND: &[Recording] = recordings! {
    "scx_lab-1.0.0-busy": USUAL, "scx_lab:1.0.0", END;
    "scx_bpfland-1.1.4-busy": USUAL, "scx_bpfland:1.1.4", END;
};

fn main() -> anyhow::Result<()> {
    let kernels: Vec<_> = std::env::args().skip(1).collect();
    ensure!(
        !kernels.is_empty(),
        "which kernels? `lab kernels` lists them"
    );
    kernels.into_iter().try_for_each(all_on)
}

fn all_on(kernel: String) -> anyhow::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let order = LabSpec {
        kernel,
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..LabSpec::new("record", Topology::Machine, &workspace.join(".lab"))
    };
    let lab = Lab::up(&order, |_| {})?;
    let node = lab.node("node1")?;
    let kernel = node.must("uname -r")?;
    let folder = workspace
        .join("crates/schedkit-core/tests/fixtures/exit_output")
        .join(kernel);
    fs::create_dir_all(&folder)?;
    for recording in RECORDINGS {
        record(&node, recording, &folder)?;
    }
    let first = format!(
        "{WORDS} podman run --detach --name first {USUAL} registry.lab:5000/scx_lab:1.0.0; attached"
    );
    node.must(&first)?;
    for recording in SECOND {
        record(&node, recording, &folder)?;
    }
    Ok(())
}

/// How many of the last lines are kept; `--verbose` makes a thousand.
const LINES: usize = 40;

fn record(node: &Node<'_>, recording: &Recording, folder: &Path) -> anyhow::Result<()> {
    let Recording {
        name,
        container,
        image,
        then,
    } = recording;
    let script = format!(
        "{WORDS}
        podman run --detach --name r {container} registry.lab:5000/{image} >&2
        {{ {then}; }} >&2
        podman logs r 2>&1 | tail -n {LINES}
        {{ echo 1 >/sys/devices/system/cpu/cpu1/online; podman rm --force --time 30 r; }} >&2"
    );
    let said = node.shell(&script)?;
    anyhow::ensure!(said.status == 0, "{name}: {}", said.text());
    let file: PathBuf = folder.join(format!("{name}.txt"));
    fs::write(&file, &said.stdout).with_context(|| file.display().to_string())?;
    writeln!(std::io::stdout(), "{name}: {} bytes", said.stdout.len())?;
    Ok(())
}
