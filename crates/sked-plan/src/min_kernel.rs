//! Compares the minimum kernel of an image with the kernel of a node.
//!
//! The minimum is a label of the image, not a fact: distributions backport features to older
//! kernels, and a label can be wrong. So no node is excluded because of it, and nothing is reported
//! if the kernel runs the scheduler after all. Otherwise it is reported, on its own before the
//! first failure and together with every failure.

use std::fmt;

use schedkit_core::KernelRelease;

use crate::live_pod::LivePod;
use crate::observed::Observed;
use crate::part::{Part, parts};

/// A kernel that is older than the minimum kernel of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TooOld<'a> {
    release: &'a KernelRelease,
    min_kernel: &'a KernelRelease,
    image: &'a str,
}

/// Whether the kernel of the pod's node is too old for the image that the SchedExt names for it.
/// `None` if either is unknown.
pub(crate) fn too_old<'a>(observed: &'a Observed, pod: &LivePod) -> Option<TooOld<'a>> {
    let release = observed.releases.get(pod.node.as_ref()?)?;
    let mut live = observed.daemonsets.iter();
    let live = live.find(|live| live.uid == pod.daemonset)?;
    let both = |part: Part<'a>| [part, part.canary()];
    let mut parts = parts(&observed.schedext).flat_map(both);
    let image = parts.find(|part| part.key() == live.key)?.sched();
    let min_kernel = observed.min_kernels.get(image)?;
    (release.numbers() < min_kernel.numbers()).then_some(TooOld {
        release,
        min_kernel,
        image,
    })
}

impl fmt::Display for TooOld<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            release,
            min_kernel,
            image,
        } = self;
        write!(
            f,
            "its kernel {release} is older than {min_kernel}, the minimum kernel of {image}: boot a newer \
             kernel, use an older version of the scheduler, or exclude the node with spec.nodeSelector"
        )
    }
}
