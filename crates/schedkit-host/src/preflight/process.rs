//! Checks of this process: may it load a scheduler.
//!
//! Each capability is asked for by itself. The kernel lets CAP_SYS_ADMIN stand in for the others,
//! but a process that holds it and not them was confined on purpose, and a sandbox that took them
//! away often forbids the system call, too.

use crate::capabilities::Capability;
use crate::fact::Fact;
use crate::preflight::{Requirements, Verdict};
use crate::snapshot::HostSnapshot;

pub(super) fn cap_bpf(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    holds(snapshot, Capability::Bpf)
}

pub(super) fn cap_sys_admin(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    holds(snapshot, Capability::SysAdmin)
}

pub(super) fn cap_perfmon(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    holds(snapshot, Capability::Perfmon)
}

fn holds(snapshot: &HostSnapshot, capability: Capability) -> Verdict {
    match &snapshot.capabilities {
        Fact::Known(set) if set.has(capability) => Verdict::pass("it has"),
        Fact::Known(_) => Verdict::fail(
            "it has not",
            format!(
                "run as root (sudo); in a container, run it privileged or add {}",
                capability.name()
            ),
        ),
        unknown => Verdict::Skip(format!(
            "/proc/self/status {}",
            unknown.trouble().unwrap_or_default()
        )),
    }
}
