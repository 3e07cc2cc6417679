//! Checks of the kernel itself: is it new enough, was it built and set up for schedulers.

use crate::fact::Fact;
use crate::kconfig::KernelConfig;
use crate::kernel::BpfJit;
use crate::lockdown::Lockdown;
use crate::preflight::{Requirements, Verdict};
use crate::snapshot::HostSnapshot;

/// The first kernel that may have sched_ext.
const FLOOR: [u32; 3] = [6, 12, 0];
/// Without any of these no scheduler loads.
const OPTIONS: &[&str] = &[
    "BPF",
    "BPF_SYSCALL",
    "BPF_JIT",
    "DEBUG_INFO_BTF",
    "SCHED_CLASS_EXT",
];

pub(super) fn version(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    match &snapshot.kernel.release {
        Fact::Known(release) if release.numbers() >= FLOOR => Verdict::pass(release.as_str()),
        Fact::Known(release) => Verdict::fail(
            release.as_str(),
            "boot a kernel of 6.12 or newer that has CONFIG_SCHED_CLASS_EXT=y",
        ),
        unknown => skip("/proc/sys/kernel/osrelease", unknown),
    }
}

pub(super) fn sched_ext(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    match &snapshot.sched_ext {
        Fact::Known(sched_ext) => Verdict::pass(match &sched_ext.state {
            Fact::Known(state) => format!("its state is {:?}", state.as_str()),
            unknown => saying("/sys/kernel/sched_ext/state", unknown),
        }),
        missing => Verdict::fail(
            saying("/sys/kernel/sched_ext", missing),
            "boot a kernel with CONFIG_SCHED_CLASS_EXT=y, and make sure that /sys is mounted",
        ),
    }
}

pub(super) fn btf(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    match &snapshot.btf {
        Fact::Known(btf) => Verdict::pass(format!("version {}", btf.version)),
        missing => Verdict::fail(
            saying("/sys/kernel/btf/vmlinux", missing),
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, and make sure that /sys is mounted",
        ),
    }
}

pub(super) fn config(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    let config = match &snapshot.config {
        Fact::Known(config) => config,
        unknown => return skip("the kernel's configuration", unknown),
    };
    let missing = missing(config);
    if missing.is_empty() {
        return Verdict::pass(format!("all set in {}", config.source.path()));
    }
    Verdict::fail(
        format!("{} not set in {}", missing.join(", "), config.source.path()),
        format!("boot a kernel with {}=y", missing.join("=y, ")),
    )
}

pub(super) fn config_file(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    const REMEDY: &str = "install the file that belongs to the running kernel as \
                          /boot/config-RELEASE, or boot a kernel with CONFIG_IKCONFIG_PROC=y";
    match &snapshot.config {
        Fact::Known(config) if config.source.is_seen_by_libbpf() => {
            Verdict::pass(config.source.path())
        }
        Fact::Known(config) => Verdict::fail(
            format!(
                "it is in {} only, where libbpf does not look",
                config.source.path()
            ),
            REMEDY,
        ),
        missing => Verdict::fail(saying("the kernel's configuration", missing), REMEDY),
    }
}

pub(super) fn bpf_jit(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    match &snapshot.kernel.bpf_jit {
        Fact::Known(BpfJit::On) => Verdict::pass("net.core.bpf_jit_enable is 1"),
        Fact::Known(BpfJit::Debug) => Verdict::pass("net.core.bpf_jit_enable is 2"),
        Fact::Known(BpfJit::Off) => Verdict::fail(
            "net.core.bpf_jit_enable is 0",
            "run `sysctl net.core.bpf_jit_enable=1` and keep it in /etc/sysctl.d",
        ),
        Fact::Known(BpfJit::Unknown(text)) => {
            Verdict::skip(format!("net.core.bpf_jit_enable is {text:?}"))
        }
        unknown => skip("net.core.bpf_jit_enable", unknown),
    }
}

pub(super) fn lockdown(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    match &snapshot.lockdown {
        Fact::Known(mode @ (Lockdown::None | Lockdown::Integrity)) => {
            Verdict::pass(format!("lockdown is {:?}", mode.as_str()))
        }
        Fact::Known(Lockdown::Confidentiality) => Verdict::fail(
            "lockdown is \"confidentiality\"",
            "start the kernel with lockdown=integrity or without lockdown",
        ),
        Fact::Known(Lockdown::Unknown(mode)) => Verdict::skip(format!("lockdown is {mode:?}")),
        Fact::Absent => Verdict::pass("no lockdown"),
        unknown => skip("/sys/kernel/security/lockdown", unknown),
    }
}

pub(super) fn preempt_rt(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    match &snapshot.kernel.realtime {
        Fact::Known(false) => Verdict::pass("it is not"),
        Fact::Known(true) => Verdict::fail(
            "it is one: real-time tasks stay out of a scheduler's hands and can starve it into a stall",
            "try the scheduler under your real-time load before you rely on it, or boot an ordinary kernel",
        ),
        unknown => skip("/proc/sys/kernel/version", unknown),
    }
}

fn missing(config: &KernelConfig) -> Vec<String> {
    let unset = OPTIONS.iter().filter(|option| !config.has(option));
    unset.map(|option| format!("CONFIG_{option}")).collect()
}

fn skip<T>(name: &str, unknown: &Fact<T>) -> Verdict {
    Verdict::Skip(saying(name, unknown))
}

fn saying<T>(name: &str, unknown: &Fact<T>) -> String {
    format!("{name} {}", unknown.trouble().unwrap_or_default())
}
