//! Whether a scheduler can run on a machine: named checks in a fixed order.
//!
//! Pure: a snapshot and requirements in, findings out. `schedctl doctor` prints them, `run`
//! refuses when one is blocking. The first ten checks, their ids and severities are a contract;
//! those after them are ours and never block, but for what an image itself demands.
//!
//! Unknown is not broken: a check that could not find out is skipped and says why, because the
//! machine may be fine. Only what was seen to be wrong fails.

mod image;
mod kernel;
mod process;
mod requirements;
mod runtime;
mod surroundings;

use schedkit_core::{Finding, Severity, Status};

pub use requirements::{ImageNeeds, KernelFloor, Reach, Requirements, Socket};

use crate::snapshot::HostSnapshot;

/// A question to a machine.
struct Check {
    id: &'static str,
    description: &'static str,
    severity: Severity,
    judge: fn(&HostSnapshot, &Requirements) -> Verdict,
}

/// An answer. Each has the words of what was seen.
enum Verdict {
    Pass(String),
    Fail { detail: String, remedy: String },
    Skip(String),
}

const CHECKS: &[Check] = &[
    Check {
        id: "kernel.version",
        description: "the kernel is 6.12 or newer",
        severity: Severity::Error,
        judge: kernel::version,
    },
    Check {
        id: "kernel.sched_ext",
        description: "the kernel has sched_ext",
        severity: Severity::Error,
        judge: kernel::sched_ext,
    },
    Check {
        id: "kernel.btf",
        description: "the kernel describes its types (BTF)",
        severity: Severity::Error,
        judge: kernel::btf,
    },
    Check {
        id: "kernel.config",
        description: "the kernel was built with all that schedulers need",
        severity: Severity::Error,
        judge: kernel::config,
    },
    Check {
        id: "caps.cap_bpf",
        description: "this process has CAP_BPF",
        severity: Severity::Error,
        judge: process::cap_bpf,
    },
    Check {
        id: "caps.cap_sys_admin",
        description: "this process has CAP_SYS_ADMIN",
        severity: Severity::Error,
        judge: process::cap_sys_admin,
    },
    Check {
        id: "caps.cap_perfmon",
        description: "this process has CAP_PERFMON",
        severity: Severity::Error,
        judge: process::cap_perfmon,
    },
    Check {
        id: "runtime.podman_socket",
        description: "Podman answers",
        severity: Severity::Warn,
        judge: runtime::podman,
    },
    Check {
        id: "runtime.containerd_socket",
        description: "containerd answers",
        severity: Severity::Warn,
        judge: runtime::containerd,
    },
    Check {
        id: "runtime.any",
        description: "Podman or containerd answers",
        severity: Severity::Error,
        judge: runtime::any,
    },
    Check {
        id: "kernel.config_file",
        description: "the kernel's configuration is where schedulers look for it",
        severity: Severity::Warn,
        judge: kernel::config_file,
    },
    Check {
        id: "kernel.bpf_jit",
        description: "BPF programs are compiled, not interpreted",
        severity: Severity::Warn,
        judge: kernel::bpf_jit,
    },
    Check {
        id: "kernel.lockdown",
        description: "BPF programs may read the kernel's memory",
        severity: Severity::Warn,
        judge: kernel::lockdown,
    },
    Check {
        id: "kernel.preempt_rt",
        description: "the kernel is no PREEMPT_RT kernel",
        severity: Severity::Info,
        judge: kernel::preempt_rt,
    },
    Check {
        id: "cpu.isolcpus",
        description: "no processor is isolated (isolcpus)",
        severity: Severity::Warn,
        judge: surroundings::isolcpus,
    },
    Check {
        id: "cpu.nohz_full",
        description: "no processor goes without a tick (nohz_full)",
        severity: Severity::Info,
        judge: surroundings::nohz_full,
    },
    Check {
        id: "scheduler.rivals",
        description: "nobody else on this machine starts schedulers",
        severity: Severity::Warn,
        judge: surroundings::rivals,
    },
    Check {
        id: "scheduler.attached",
        description: "no scheduler is attached yet",
        severity: Severity::Info,
        judge: surroundings::attached,
    },
];

const IMAGE_CHECKS: &[Check] = &[
    Check {
        id: "image.kernel",
        description: "the kernel is new enough for the image",
        severity: Severity::Error,
        judge: image::kernel,
    },
    Check {
        id: "image.architecture",
        description: "the image was made for this machine",
        severity: Severity::Error,
        judge: image::architecture,
    },
];

/// Asks all questions, always in the same order; those about an image only when one is given.
pub fn examine(snapshot: &HostSnapshot, requirements: &Requirements) -> Vec<Finding> {
    let about_image = match requirements.image {
        Some(_) => IMAGE_CHECKS,
        None => &[],
    };
    let all = CHECKS.iter().chain(about_image);
    all.map(|check| check.ask(snapshot, requirements)).collect()
}

impl Check {
    fn ask(&self, snapshot: &HostSnapshot, requirements: &Requirements) -> Finding {
        let (status, detail, remediation) = match (self.judge)(snapshot, requirements) {
            Verdict::Pass(detail) => (Status::Pass, detail, None),
            Verdict::Fail { detail, remedy } => (Status::Fail, detail, Some(remedy)),
            Verdict::Skip(detail) => (Status::Skip, detail, None),
        };
        Finding {
            id: self.id,
            description: self.description,
            severity: self.severity,
            status,
            detail,
            remediation,
        }
    }
}

impl Verdict {
    fn pass(detail: impl Into<String>) -> Self {
        Self::Pass(detail.into())
    }

    fn fail(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Fail {
            detail: detail.into(),
            remedy: remedy.into(),
        }
    }

    fn skip(detail: impl Into<String>) -> Self {
        Self::Skip(detail.into())
    }
}
