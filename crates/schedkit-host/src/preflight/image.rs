//! Checks of what an image demands of the machine. Asked only when an image is meant.

use crate::architecture::Architecture;
use crate::fact::Fact;
use crate::preflight::{ImageNeeds, KernelFloor, Requirements, Verdict};
use crate::snapshot::HostSnapshot;

pub(super) fn kernel(snapshot: &HostSnapshot, requirements: &Requirements) -> Verdict {
    let Some(ImageNeeds { kernel, .. }) = &requirements.image else {
        return Verdict::skip("no image is meant");
    };
    let floor = match kernel {
        KernelFloor::Release(floor) => floor,
        KernelFloor::Unstated => return Verdict::skip("the image names no oldest kernel"),
        KernelFloor::Strange(text) => {
            return Verdict::skip(format!("the image wants kernel {text:?}, which is none"));
        }
    };
    match &snapshot.kernel.release {
        Fact::Known(release) if release.numbers() >= floor.numbers() => {
            Verdict::pass(format!("{release}; the image wants {floor} or newer"))
        }
        Fact::Known(release) => Verdict::fail(
            format!("{release}; the image wants {floor} or newer"),
            format!("boot a kernel of {floor} or newer, or use an older version of the scheduler"),
        ),
        unknown => Verdict::Skip(format!(
            "/proc/sys/kernel/osrelease {}",
            unknown.trouble().unwrap_or_default()
        )),
    }
}

pub(super) fn architecture(snapshot: &HostSnapshot, requirements: &Requirements) -> Verdict {
    let Some(ImageNeeds { architectures, .. }) = &requirements.image else {
        return Verdict::skip("no image is meant");
    };
    if architectures.is_empty() {
        return Verdict::skip("the image does not say which machines it was made for");
    }
    let names: Vec<&str> = architectures.iter().map(Architecture::as_str).collect();
    let names = names.join(", ");
    match &snapshot.architecture {
        Fact::Known(machine) if architectures.contains(machine) => {
            Verdict::pass(machine.to_string())
        }
        Fact::Known(machine) => Verdict::fail(
            format!("this machine is {machine}; the image was made for {names}"),
            format!("use an image that was made for {machine}"),
        ),
        unknown => Verdict::Skip(format!(
            "/proc/sys/kernel/arch {}",
            unknown.trouble().unwrap_or_default()
        )),
    }
}
