//! Checks of the requirements of an image. Made only when there is an image.

use super::outcome::Outcome;
use super::requirements::{ImageRequirements, MinKernel, Requirements};
use crate::architecture::Architecture;
use crate::fact::Fact;
use crate::snapshot::HostSnapshot;

pub(super) fn kernel(snapshot: &HostSnapshot, requirements: &Requirements) -> Outcome {
    let Some(ImageRequirements { min_kernel, .. }) = &requirements.image else {
        return Outcome::skip("no image was named");
    };
    let minimum = match min_kernel {
        MinKernel::Release(minimum) => minimum,
        MinKernel::Unspecified => return Outcome::skip("the image does not name a minimum kernel"),
        MinKernel::Malformed(text) => {
            return Outcome::skip(format!(
                "the minimum kernel of the image is {text:?}, which is not a kernel release"
            ));
        }
    };
    match &snapshot.kernel.release {
        Fact::Known(release) if release.numbers() >= minimum.numbers() => {
            Outcome::pass(format!("{release}; the image needs {minimum} or newer"))
        }
        Fact::Known(release) => Outcome::fail(
            format!("{release}; the image needs {minimum} or newer"),
            format!(
                "boot a kernel of {minimum} or newer, or use an older version of the scheduler"
            ),
        ),
        unknown => Outcome::skip_unknown("/proc/sys/kernel/osrelease", unknown),
    }
}

pub(super) fn architecture(snapshot: &HostSnapshot, requirements: &Requirements) -> Outcome {
    let Some(ImageRequirements { architectures, .. }) = &requirements.image else {
        return Outcome::skip("no image was named");
    };
    if architectures.is_empty() {
        return Outcome::skip("the image does not say which machines it was made for");
    }
    let names: Vec<&str> = architectures.iter().map(Architecture::as_str).collect();
    let names = names.join(", ");
    match &snapshot.architecture {
        Fact::Known(machine) if architectures.contains(machine) => {
            Outcome::pass(machine.to_string())
        }
        Fact::Known(machine) => Outcome::fail(
            format!("this machine is {machine}; the image was made for {names}"),
            format!("use an image that was made for {machine}"),
        ),
        unknown => Outcome::skip_unknown("/proc/sys/kernel/arch", unknown),
    }
}
