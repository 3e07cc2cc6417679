//! Compares what images say about themselves with the nodes that they are for, whether or not these
//! have a pod yet.
//!
//! It is a claim of the image, not a fact: distributions backport features to older kernels, and a
//! label can be wrong. So no node is excluded because of it, and nothing is reported of a node whose
//! kernel runs the scheduler after all. What is not known is not reported either.

use std::collections::BTreeSet;
use std::fmt;

use schedkit_core::KernelRelease;
use sked_api::Reason;

use crate::image_facts::ImageFacts;
use crate::live_pod::LivePod;
use crate::name::{NodeName, Uid};
use crate::observed::Observed;
use crate::part::{Part, PartId};
use crate::rollout::{Templates, is_deployed};

/// The images of one SchedExt that are known, and its nodes.
pub(crate) struct Preflight<'a> {
    observed: &'a Observed,
    images: Vec<PartImage<'a>>,
}

struct PartImage<'a> {
    part: PartId,
    daemonset: Option<&'a Uid>,
    image: &'a str,
    facts: &'a ImageFacts,
    /// Whether the arguments begin with a program, which an image without an entrypoint needs.
    has_program: bool,
}

/// Why an image does not fit a node. Displays as the cause and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfit<'a> {
    /// It can never start there.
    Architecture {
        architecture: &'a str,
        image: &'a str,
        available: &'a [String],
    },
    KernelTooOld {
        release: &'a KernelRelease,
        min_kernel: &'a KernelRelease,
        image: &'a str,
    },
}

impl<'a> Preflight<'a> {
    pub(crate) fn new(observed: &'a Observed) -> Self {
        let images = match observed.facts.is_empty() {
            true => Vec::new(),
            false => images(observed),
        };
        Self { observed, images }
    }

    /// Why the node of a pod does not fit the image that its DaemonSet has now.
    pub(crate) fn of_pod(&self, pod: &'a LivePod) -> Option<Unfit<'a>> {
        let mut images = self.images.iter();
        let image = images.find(|one| one.daemonset == Some(&pod.daemonset))?;
        self.unfit(pod.node.as_ref()?, image)
    }

    /// The nodes of the SchedExt that do not fit.
    pub(crate) fn of_nodes(&self) -> impl Iterator<Item = (&'a NodeName, Unfit<'a>)> {
        self.images.iter().flat_map(move |image| {
            let part = self.observed.assignment.parts.get(&image.part);
            let nodes = part.into_iter().flat_map(|part| &part.nodes);
            nodes.filter_map(move |node| Some((node, self.unfit(node, image)?)))
        })
    }

    fn unfit(&self, node: &NodeName, image: &PartImage<'a>) -> Option<Unfit<'a>> {
        let PartImage { image, facts, .. } = *image;
        let architecture = self.observed.architectures.get(node);
        let others =
            |one: &&String| !facts.architectures.is_empty() && !facts.architectures.contains(one);
        if let Some(architecture) = architecture.filter(others) {
            return Some(Unfit::Architecture {
                architecture,
                image,
                available: &facts.architectures,
            });
        }
        let release = self.observed.releases.get(node)?;
        let min_kernel = facts.min_kernel.as_ref()?;
        (release.numbers() < min_kernel.numbers()).then_some(Unfit::KernelTooOld {
            release,
            min_kernel,
            image,
        })
    }

    /// For each image that names no program, why its pods cannot start.
    pub(crate) fn images_that_cannot_start(&self) -> BTreeSet<String> {
        let images = self.images.iter();
        let images = images.filter(|one| !one.facts.has_entrypoint && !one.has_program);
        images
            .map(|one| {
                format!(
                    "{} names no program to start: build it with an entrypoint, or name another image",
                    one.image
                )
            })
            .collect()
    }
}

fn images(observed: &Observed) -> Vec<PartImage<'_>> {
    let daemonsets = || observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = is_deployed(&observed.schedext, daemonsets());
    let templates = Templates::new(&observed.schedext, is_deployed);
    let image = |part: &Part<'_>| {
        let (image, facts) = observed.facts.get_key_value(part.sched())?;
        let key = part.key();
        let first = part.args().first();
        Some(PartImage {
            part: part.id(),
            daemonset: daemonsets()
                .find(|live| live.key == key)
                .map(|live| &live.uid),
            image,
            facts,
            has_program: first.is_some_and(|first| !first.starts_with('-')),
        })
    };
    templates.parts().iter().filter_map(image).collect()
}

impl Unfit<'_> {
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Architecture { .. } => Reason::ArchitectureMissing,
            Self::KernelTooOld { .. } => Reason::KernelTooOld,
        }
    }
}

impl fmt::Display for Unfit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Architecture {
                architecture,
                image,
                available,
            } => write!(
                f,
                "{image} has nothing for its architecture {architecture}, only for {}: build the image for \
                 {architecture}, or exclude the node with spec.nodeSelector",
                available.join(", ")
            ),
            Self::KernelTooOld {
                release,
                min_kernel,
                image,
            } => write!(
                f,
                "its kernel {release} is older than {min_kernel}, the minimum kernel of {image}: boot a \
                 newer kernel, use an older version of the scheduler, or exclude the node with \
                 spec.nodeSelector"
            ),
        }
    }
}
