//! Checks of the capabilities of this process.
//!
//! Each capability is checked by itself. The kernel accepts CAP_SYS_ADMIN in place of the others, but
//! a process that has it without them was confined on purpose, and such a sandbox often forbids the
//! system call as well.

use super::outcome::Outcome;
use super::requirements::Requirements;
use crate::capabilities::Capability;
use crate::fact::Fact;
use crate::snapshot::HostSnapshot;

pub(super) fn cap_bpf(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    check_capability(snapshot, Capability::Bpf)
}

pub(super) fn cap_sys_admin(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    check_capability(snapshot, Capability::SysAdmin)
}

pub(super) fn cap_perfmon(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    check_capability(snapshot, Capability::Perfmon)
}

fn check_capability(snapshot: &HostSnapshot, capability: Capability) -> Outcome {
    match &snapshot.capabilities {
        Fact::Known(set) if set.has(capability) => Outcome::pass("this process has it"),
        Fact::Known(_) => Outcome::fail(
            "this process does not have it",
            format!(
                "run as root (sudo); in a container, run it privileged or add {}",
                capability.name()
            ),
        ),
        unknown => Outcome::skip_unknown("/proc/self/status", unknown),
    }
}
