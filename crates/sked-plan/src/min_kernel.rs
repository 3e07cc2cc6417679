//! The oldest kernel that an image asks for, against the kernel of a node.
//!
//! It is what the image says, not what the kernel says: distributions carry newer things in older
//! kernels, and a label can be wrong. So no node is left out for it, and where the kernel runs the
//! scheduler after all nothing is said. Elsewhere it is told before the first attempt has failed,
//! and beside every failure.

use std::fmt;

use schedkit_core::KernelRelease;

use crate::observed::{LivePod, Observed};
use crate::part::parts;

/// A kernel that is older than what an image asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TooOld<'a> {
    release: &'a KernelRelease,
    floor: &'a KernelRelease,
    image: &'a str,
}

/// Whether the kernel where a pod is, is too old for what its SchedExt wants there. Where one of
/// the two is not known, it is not.
pub(crate) fn too_old<'a>(observed: &'a Observed, pod: &LivePod) -> Option<TooOld<'a>> {
    let release = observed.releases.get(pod.node.as_ref()?)?;
    let mut live = observed.daemonsets.iter();
    let live = live.find(|live| live.uid == pod.daemonset)?;
    let part = parts(&observed.schedext).find(|part| part.key() == live.key)?;
    let image = part.sched();
    let floor = observed.floors.get(image)?;
    (release.numbers() < floor.numbers()).then_some(TooOld {
        release,
        floor,
        image,
    })
}

/// A sentence with a remedy.
impl fmt::Display for TooOld<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            release,
            floor,
            image,
        } = self;
        write!(
            f,
            "its kernel {release} is older than {floor}, which {image} asks for: boot a newer one, \
             use an older version of the scheduler, or leave the node out with spec.nodeSelector"
        )
    }
}
