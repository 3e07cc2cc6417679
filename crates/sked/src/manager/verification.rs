//! Verifies the images of SchedExts, with `--trust-policy`.
//!
//! ```text
//! controller ─want, of▶ Verifier ─table▶ what is known ─▶ sked_plan::verification
//!                    │  ▲
//!            wanted  │  │ verdicts ─▶ queue: the SchedExts that name the image
//!                    ▼  │
//!          thread: policy file, registries (resolve ─▶ verify, one image at a time)
//! ```
//!
//! The thread is one of its own: hashing, signatures and certificates would delay everything else on
//! the manager's. Each image gets a client of its own, so that what was read for it, and the tokens that
//! were issued for it, are gone with it.

mod bounded;
mod policy_file;
mod pull_secrets;
mod question;
mod read;
mod table;
mod trust_root;
mod verifier;

use std::sync::Arc;

use sked_api::SchedExt;
use sked_plan::image_facts::ImageFacts;
use sked_plan::verification::{Verification, was_on};

pub(crate) use trust_root::{TrustRootError, TrustRootSettings};
pub(crate) use verifier::{Settings, Verifier};

/// Where verdicts come from.
#[derive(Clone, Default)]
pub(crate) enum Verifying {
    /// From nowhere: any image runs.
    #[default]
    Off,
    /// From the statuses: for whoever reads a cluster and is not its manager.
    AsRecorded,
    By(Arc<Verifier>),
}

impl Verifying {
    /// From now on the verifier looks at what is missing of a SchedExt's images.
    pub(crate) fn want(&self, asked: &SchedExt) {
        if let Self::By(verifier) = self {
            verifier.want(asked);
        }
    }

    /// What is known of a SchedExt's images.
    pub(crate) fn of(&self, asked: &Arc<SchedExt>) -> Verification {
        match self {
            Self::Off => Verification::Off,
            Self::AsRecorded if !was_on(asked) => Verification::Off,
            Self::AsRecorded => Verification::Recorded(Arc::clone(asked)),
            Self::By(verifier) => Verification::On(Box::new(verifier.known(asked))),
        }
    }

    /// What an image says about itself, if the verifier has read it.
    pub(crate) fn facts(&self, image: &str) -> Option<Arc<ImageFacts>> {
        match self {
            Self::Off | Self::AsRecorded => None,
            Self::By(verifier) => verifier.facts(image),
        }
    }

    /// Whether only verified images of it run.
    pub(crate) fn is_on(&self, asked: &SchedExt) -> bool {
        match self {
            Self::Off => false,
            Self::AsRecorded => was_on(asked),
            Self::By(_) => true,
        }
    }
}
