//! Checks whether a scheduler can run on a machine, in a fixed order.
//!
//! Pure: a snapshot and requirements in, findings out. `schedctl doctor` prints them, `run` refuses
//! when one is blocking. The ids and severities of the first ten checks are part of schedctl's
//! interface; of the others only those about an image can block.
//!
//! A check that cannot be made is skipped with the reason, because the machine may be fine. A check
//! fails only when the problem was observed.

mod conflicts;
mod image;
mod kernel;
mod outcome;
mod process;
mod requirements;
mod runtime;

use schedkit_core::{CheckStatus, Finding, Severity};

pub use requirements::{ImageRequirements, MinKernel, Reachability, Requirements, Socket};

use self::outcome::Outcome;
use crate::fact::Fact;
use crate::snapshot::HostSnapshot;

struct Check {
    id: &'static str,
    description: &'static str,
    severity: Severity,
    run: fn(&HostSnapshot, &Requirements) -> Outcome,
}

const CHECKS: &[Check] = &[
    Check {
        id: "kernel.version",
        description: "the kernel is 6.12 or newer",
        severity: Severity::Error,
        run: kernel::version,
    },
    Check {
        id: "kernel.sched_ext",
        description: "the kernel has sched_ext",
        severity: Severity::Error,
        run: kernel::sched_ext,
    },
    Check {
        id: "kernel.btf",
        description: "the kernel describes its types (BTF)",
        severity: Severity::Error,
        run: kernel::btf,
    },
    Check {
        id: "kernel.config",
        description: "the kernel was built with all that schedulers need",
        severity: Severity::Error,
        run: kernel::config,
    },
    Check {
        id: "caps.cap_bpf",
        description: "this process has CAP_BPF",
        severity: Severity::Error,
        run: process::cap_bpf,
    },
    Check {
        id: "caps.cap_sys_admin",
        description: "this process has CAP_SYS_ADMIN",
        severity: Severity::Error,
        run: process::cap_sys_admin,
    },
    Check {
        id: "caps.cap_perfmon",
        description: "this process has CAP_PERFMON",
        severity: Severity::Error,
        run: process::cap_perfmon,
    },
    Check {
        id: "runtime.podman_socket",
        description: "Podman answers",
        severity: Severity::Warn,
        run: runtime::podman,
    },
    Check {
        id: "runtime.containerd_socket",
        description: "containerd answers",
        severity: Severity::Warn,
        run: runtime::containerd,
    },
    Check {
        id: "runtime.any",
        description: "Podman or containerd answers",
        severity: Severity::Error,
        run: runtime::any,
    },
    Check {
        id: "kernel.config_file",
        description: "the kernel's configuration is where schedulers look for it",
        severity: Severity::Warn,
        run: kernel::config_file,
    },
    Check {
        id: "kernel.bpf_jit",
        description: "BPF programs are compiled, not interpreted",
        severity: Severity::Warn,
        run: kernel::bpf_jit,
    },
    Check {
        id: "kernel.lockdown",
        description: "BPF programs may read the kernel's memory",
        severity: Severity::Warn,
        run: kernel::lockdown,
    },
    Check {
        id: "kernel.tracefs",
        description: "tracefs or debugfs is mounted",
        severity: Severity::Warn,
        run: kernel::tracefs,
    },
    Check {
        id: "kernel.preempt_rt",
        description: "the kernel is no PREEMPT_RT kernel",
        severity: Severity::Info,
        run: kernel::preempt_rt,
    },
    Check {
        id: "cpu.isolcpus",
        description: "no processor is isolated (isolcpus)",
        severity: Severity::Warn,
        run: conflicts::isolcpus,
    },
    Check {
        id: "cpu.nohz_full",
        description: "no processor goes without a tick (nohz_full)",
        severity: Severity::Info,
        run: conflicts::nohz_full,
    },
    Check {
        id: "scheduler.rivals",
        description: "nobody else on this machine starts schedulers",
        severity: Severity::Warn,
        run: conflicts::other_managers,
    },
    Check {
        id: "scheduler.attached",
        description: "no scheduler is attached yet",
        severity: Severity::Info,
        run: conflicts::attached,
    },
];

const IMAGE_CHECKS: &[Check] = &[
    Check {
        id: "image.kernel",
        description: "the kernel is new enough for the image",
        severity: Severity::Error,
        run: image::kernel,
    },
    Check {
        id: "image.architecture",
        description: "the image was made for this machine",
        severity: Severity::Error,
        run: image::architecture,
    },
];

/// Makes all checks, always in the same order; those about an image only when there is one.
pub fn examine(snapshot: &HostSnapshot, requirements: &Requirements) -> Vec<Finding> {
    let image_checks = match requirements.image {
        Some(_) => IMAGE_CHECKS,
        None => &[],
    };
    let all = CHECKS.iter().chain(image_checks);
    all.map(|check| check.finding(snapshot, requirements))
        .collect()
}

/// What the kernel lacks without which no scheduler can be loaded, as far as this process can see:
/// what it may not read is not missing. For those who have neither a runtime nor an image in mind.
pub fn kernel_gaps(snapshot: &HostSnapshot) -> Vec<Finding> {
    let socket = || Socket {
        path: String::new(),
        reachability: Reachability::NotChecked,
    };
    let nothing = Requirements {
        podman: socket(),
        containerd: socket(),
        image: None,
    };
    let about_kernel = |check: &&Check| match check.id {
        "kernel.btf" => matches!(snapshot.btf, Fact::Absent),
        id => id == "kernel.config",
    };
    let findings = CHECKS.iter().filter(about_kernel);
    let findings = findings.map(|check| check.finding(snapshot, &nothing));
    findings.filter(Finding::is_blocking).collect()
}

impl Check {
    fn finding(&self, snapshot: &HostSnapshot, requirements: &Requirements) -> Finding {
        let (status, detail, remediation) = match (self.run)(snapshot, requirements) {
            Outcome::Pass(detail) => (CheckStatus::Pass, detail, None),
            Outcome::Fail { detail, remedy } => (CheckStatus::Fail, detail, Some(remedy)),
            Outcome::Skip(detail) => (CheckStatus::Skip, detail, None),
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
