//! Records the final output of real schedulers on real kernels, for the tests of `schedkit-core`:
//! `cargo build -p lab && cargo run -p lab --example record 6.16 7.2`.
//!
//! Each row of [`RECORDINGS`] is one container that ends in a different way. The files are named after
//! kernel, scheduler and version; see the README in their folder.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use lab::{Lab, LabSpec, Node, Scheduler, Topology};

struct Recording {
    /// Name of the file: scheduler, version, kind of end.
    name: &'static str,
    /// Options of `podman run`.
    container: &'static str,
    /// Image and arguments.
    image: &'static str,
    /// The script that runs before its output is read.
    then: &'static str,
}

const DEFAULT: &str = "--privileged --pid=host --network=host --volume /boot:/boot:ro";
const NO_BOOT: &str = "--privileged --pid=host --network=host";
const UNPRIVILEGED: &str = "--network=host --volume /boot:/boot:ro";

const END: &str = "podman wait r";
const STOP: &str = "attached; podman stop --time 30 r";
const SYSRQ: &str = "attached; echo S >/proc/sysrq-trigger; podman wait r";
const HOTPLUG: &str = "attached; hotplug 0";
const HOTPLUG_STOP: &str = "attached; hotplug 0; hotplug 1; podman stop --time 30 r";

/// Shell functions for the scripts above. `enable_seq` counts up when a scheduler restarts after a
/// hotplug. The sleep is for the scheduler's own output, which comes after the kernel's.
const FUNCTIONS: &str = r#"
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
    "scx_lab-1.0.0-stopped": DEFAULT, "scx_lab:1.0.0", STOP;
    "scx_lab-1.0.0-sysrq": DEFAULT, "scx_lab:1.0.0", SYSRQ;
    "scx_lab-1.0.0-hotplug": DEFAULT, "scx_lab:1.0.0", HOTPLUG;
    "scx_lab-1.0.0-hotplug-stopped": DEFAULT, "scx_lab:1.0.0", HOTPLUG_STOP;
    "scx_lab-1.0.0-stall": DEFAULT, "scx_lab:1.0.0 --fault stall --timeout 2s", END;
    "scx_lab-1.0.0-scx-error": DEFAULT, "scx_lab:1.0.0 --fault scx-error", END;
    "scx_lab-1.0.0-runtime-error": DEFAULT, "scx_lab:1.0.0 --fault runtime-error", END;
    "scx_lab-1.0.0-bpf-exit": DEFAULT, "scx_lab:1.0.0 --fault bpf-exit", END;
    "scx_lab-1.0.0-verifier": DEFAULT, "scx_lab:1.0.0 --fault verifier", END;
    "scx_lab-1.0.0-refuse": DEFAULT, "scx_lab:1.0.0 --fault refuse", END;
    "scx_lab-1.0.0-exit": DEFAULT, "scx_lab:1.0.0 --fault exit --after 1s", END;
    "scx_lab-1.0.0-permission": UNPRIVILEGED, "scx_lab:1.0.0", END;
    "scx_lab-1.0.0-usage": DEFAULT, "scx_lab:1.0.0 --slce-us 7", END;
    "scx_bpfland-1.1.4-stopped": DEFAULT, "scx_bpfland:1.1.4", STOP;
    "scx_bpfland-1.1.4-sysrq": DEFAULT, "scx_bpfland:1.1.4", SYSRQ;
    "scx_bpfland-1.1.4-hotplug": DEFAULT, "scx_bpfland:1.1.4", HOTPLUG;
    "scx_bpfland-1.1.4-kconfig": NO_BOOT, "scx_bpfland:1.1.4", END;
    "scx_bpfland-1.1.4-kconfig-verbose": NO_BOOT, "scx_bpfland:1.1.4 --verbose", END;
    "scx_bpfland-1.1.4-permission": UNPRIVILEGED, "scx_bpfland:1.1.4", END;
    "scx_bpfland-1.1.4-usage": DEFAULT, "scx_bpfland:1.1.4 --slce-us 7", END;
};

/// The same while another scheduler is attached.
const SECOND: &[Recording] = recordings! {
    "scx_lab-1.0.0-busy": DEFAULT, "scx_lab:1.0.0", END;
    "scx_bpfland-1.1.4-busy": DEFAULT, "scx_bpfland:1.1.4", END;
};

fn main() -> anyhow::Result<()> {
    let kernels: Vec<_> = std::env::args().skip(1).collect();
    ensure!(
        !kernels.is_empty(),
        "name at least one kernel: `lab kernels` lists them"
    );
    kernels.into_iter().try_for_each(record_all)
}

fn record_all(kernel: String) -> anyhow::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let spec = LabSpec {
        kernel,
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..LabSpec::new("record", Topology::Machine, &workspace.join(".lab"))
    };
    let lab = Lab::up(&spec, |_| {})?;
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
        "{FUNCTIONS} podman run --detach --name first {DEFAULT} registry.lab:5000/scx_lab:1.0.0; attached"
    );
    node.must(&first)?;
    for recording in SECOND {
        record(&node, recording, &folder)?;
    }
    Ok(())
}

/// How many lines at the end are kept; `--verbose` prints a thousand.
const LINES: usize = 40;

fn record(node: &Node<'_>, recording: &Recording, folder: &Path) -> anyhow::Result<()> {
    let Recording {
        name,
        container,
        image,
        then,
    } = recording;
    let script = format!(
        "{FUNCTIONS}
        podman run --detach --name r {container} registry.lab:5000/{image} >&2
        {{ {then}; }} >&2
        podman logs r 2>&1 | tail -n {LINES}
        {{ echo 1 >/sys/devices/system/cpu/cpu1/online; podman rm --force --time 30 r; }} >&2"
    );
    let output = node.shell(&script)?;
    anyhow::ensure!(output.status == 0, "{name}: {}", output.text());
    let file: PathBuf = folder.join(format!("{name}.txt"));
    fs::write(&file, &output.stdout).with_context(|| file.display().to_string())?;
    writeln!(std::io::stdout(), "{name}: {} bytes", output.stdout.len())?;
    Ok(())
}
