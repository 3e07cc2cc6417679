//! Checks of the kernel: version, configuration, BTF, JIT, lockdown, tracefs, PREEMPT_RT.

use super::outcome::{Outcome, describe};
use super::requirements::Requirements;
use crate::fact::Fact;
use crate::kconfig::KernelConfig;
use crate::kernel::BpfJit;
use crate::lockdown::Lockdown;
use crate::snapshot::HostSnapshot;
use crate::tracefs::TraceMounts;

/// Mainline has sched_ext from here on; a distribution may have disabled it.
const MIN_KERNEL: [u32; 3] = [6, 12, 0];
/// Every scheduler needs all of these.
const REQUIRED_OPTIONS: &[&str] = &[
    "BPF",
    "BPF_SYSCALL",
    "BPF_JIT",
    "DEBUG_INFO_BTF",
    "SCHED_CLASS_EXT",
];

pub(super) fn version(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.kernel.release {
        Fact::Known(release) if release.numbers() >= MIN_KERNEL => Outcome::pass(release.as_str()),
        Fact::Known(release) => Outcome::fail(
            release.as_str(),
            "boot a kernel of 6.12 or newer that has CONFIG_SCHED_CLASS_EXT=y",
        ),
        unknown => Outcome::skip_unknown("/proc/sys/kernel/osrelease", unknown),
    }
}

pub(super) fn sched_ext(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.sched_ext {
        Fact::Known(sched_ext) => Outcome::pass(match &sched_ext.state {
            Fact::Known(state) => format!("the state of sched_ext is {:?}", state.as_str()),
            unknown => describe("/sys/kernel/sched_ext/state", unknown),
        }),
        missing => Outcome::fail(
            describe("/sys/kernel/sched_ext", missing),
            "boot a kernel with CONFIG_SCHED_CLASS_EXT=y, and make sure that /sys is mounted",
        ),
    }
}

pub(super) fn btf(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.btf {
        Fact::Known(btf) => Outcome::pass(format!("BTF version {}", btf.version)),
        missing => Outcome::fail(
            describe("/sys/kernel/btf/vmlinux", missing),
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, and make sure that /sys is mounted",
        ),
    }
}

pub(super) fn config(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    let config = match &snapshot.config {
        Fact::Known(config) => config,
        unknown => return Outcome::skip_unknown("the kernel's configuration", unknown),
    };
    let missing = missing(config);
    if missing.is_empty() {
        return Outcome::pass(format!(
            "all required options are set in {}",
            config.source.path()
        ));
    }
    Outcome::fail(
        format!("{} not set in {}", missing.join(", "), config.source.path()),
        format!("boot a kernel with {}=y", missing.join("=y, ")),
    )
}

pub(super) fn config_file(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    const REMEDY: &str = "install the file that belongs to the running kernel as \
                          /boot/config-RELEASE, or boot a kernel with CONFIG_IKCONFIG_PROC=y";
    match &snapshot.config {
        Fact::Known(config) if config.source.is_read_by_libbpf() => {
            Outcome::pass(config.source.path())
        }
        Fact::Known(config) => Outcome::fail(
            format!(
                "it is in {} only, where libbpf does not look",
                config.source.path()
            ),
            REMEDY,
        ),
        missing => Outcome::fail(describe("the kernel's configuration", missing), REMEDY),
    }
}

pub(super) fn bpf_jit(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.kernel.bpf_jit {
        Fact::Known(BpfJit::On) => Outcome::pass("net.core.bpf_jit_enable is 1"),
        Fact::Known(BpfJit::Debug) => Outcome::pass("net.core.bpf_jit_enable is 2"),
        Fact::Known(BpfJit::Off) => Outcome::fail(
            "net.core.bpf_jit_enable is 0",
            "run `sysctl net.core.bpf_jit_enable=1` and keep it in /etc/sysctl.d",
        ),
        Fact::Known(BpfJit::Unknown(text)) => {
            Outcome::skip(format!("net.core.bpf_jit_enable is {text:?}"))
        }
        unknown => Outcome::skip_unknown("net.core.bpf_jit_enable", unknown),
    }
}

pub(super) fn lockdown(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.lockdown {
        Fact::Known(mode @ (Lockdown::None | Lockdown::Integrity)) => {
            Outcome::pass(format!("lockdown is {:?}", mode.as_str()))
        }
        Fact::Known(Lockdown::Confidentiality) => Outcome::fail(
            "lockdown is \"confidentiality\"",
            "start the kernel with lockdown=integrity or without lockdown",
        ),
        Fact::Known(Lockdown::Unknown(mode)) => Outcome::skip(format!("lockdown is {mode:?}")),
        Fact::Absent => Outcome::pass("no lockdown"),
        unknown => Outcome::skip_unknown("/sys/kernel/security/lockdown", unknown),
    }
}

pub(super) fn tracefs(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.trace_mounts {
        Fact::Known(TraceMounts {
            tracefs: None,
            debugfs: None,
        }) => Outcome::fail(
            "neither is mounted; some schedulers, such as scx_lavd, do not start without",
            "run `mount -t tracefs tracefs /sys/kernel/tracing` and `mount -t debugfs debugfs \
             /sys/kernel/debug`",
        ),
        Fact::Known(TraceMounts { tracefs, debugfs }) => {
            let mounted = [("tracefs", tracefs), ("debugfs", debugfs)].map(|(name, place)| {
                let place = place.map(|place| format!("{name} at {place}"));
                place.unwrap_or_else(|| format!("no {name}"))
            });
            Outcome::pass(mounted.join(", "))
        }
        unknown => Outcome::skip_unknown("/proc/self/mounts", unknown),
    }
}

pub(super) fn preempt_rt(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    match &snapshot.kernel.realtime {
        Fact::Known(false) => Outcome::pass("not a PREEMPT_RT kernel"),
        Fact::Known(true) => Outcome::fail(
            "a PREEMPT_RT kernel: real-time tasks run before those of the scheduler and can starve it, which is a stall",
            "try the scheduler under your real-time load before you rely on it, or boot an ordinary kernel",
        ),
        unknown => Outcome::skip_unknown("/proc/sys/kernel/version", unknown),
    }
}

fn missing(config: &KernelConfig) -> Vec<String> {
    let unset = REQUIRED_OPTIONS.iter().filter(|option| !config.has(option));
    unset.map(|option| format!("CONFIG_{option}")).collect()
}
