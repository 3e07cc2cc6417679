//! What is known of the signatures of a SchedExt's images.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use serde_json::{Map, Value};
use sked_api::SchedExt;

use super::image::{images, images_in};
use super::runnable::runnable;

/// What is known of the signatures of a SchedExt's images.
#[derive(Clone, Debug, Default)]
pub enum Verification {
    /// The manager has no trust policy: any image runs.
    #[default]
    Off,
    On(Box<Known>),
    /// As the manager recorded it in the status of the SchedExt, which is here as the API server has
    /// it: for whoever is not the manager.
    Recorded(Arc<SchedExt>),
}

/// What the verifier knows.
#[derive(Clone, Debug)]
pub struct Known {
    /// The SchedExt as the API server has it.
    pub asked: Arc<SchedExt>,
    pub policy: PolicyState,
    /// By reference: a tag of the spec, or what it was resolved to. One that is missing is not known
    /// yet.
    pub verdicts: BTreeMap<String, Verdict>,
    /// Every tag was resolved since somebody asked for it (`refresh`).
    pub is_refreshed: bool,
    /// A tag that moves is followed.
    pub follows_tags: bool,
    /// What the policy refuses does not go on running.
    pub enforces: bool,
}

/// The trust policy of the manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyState {
    Loaded {
        fingerprint: String,
    },
    /// It cannot be read any more; the last one that could decides.
    Outdated {
        fingerprint: String,
        why: String,
    },
    /// None could be read since the manager started.
    Missing {
        why: String,
    },
}

impl PolicyState {
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Self::Loaded { fingerprint } | Self::Outdated { fingerprint, .. } => Some(fingerprint),
            Self::Missing { .. } => None,
        }
    }

    /// Why it cannot be read.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Self::Loaded { .. } => None,
            Self::Outdated { why, .. } | Self::Missing { why } => Some(why),
        }
    }
}

/// What the verifier found out about one reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted {
        /// By its digest.
        resolved: String,
        signer: String,
        /// The fingerprint of the policy.
        policy: String,
        at: Timestamp,
    },
    /// Why, in words.
    Refused(String),
    /// Nobody can tell: why, in words.
    Trouble(String),
}

impl Verification {
    pub fn is_on(&self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether no spec of the SchedExt was ever accepted, so that nothing of it may be written.
    pub fn runs_nothing(&self) -> bool {
        match self {
            Self::Off => false,
            Self::On(known) => runnable(&known.asked).is_none(),
            Self::Recorded(asked) => runnable(asked).is_none(),
        }
    }

    /// Once the tags were looked at again as somebody asked: whether all are accepted, or why not.
    pub(crate) fn refreshed(&self) -> Option<Result<(), String>> {
        let known = match self {
            Self::On(known) => known,
            Self::Recorded(_) => return None,
            Self::Off => {
                let why = "this manager has no trust policy (--trust-policy), so no tag is pinned";
                return Some(Err(why.to_owned()));
            }
        };
        if !known.is_refreshed {
            return None;
        }
        let failed = images(&known.asked).into_iter().find_map(|image| {
            let why = match known.verdicts.get(image)? {
                Verdict::Accepted { .. } => return None,
                Verdict::Refused(why) | Verdict::Trouble(why) => why,
            };
            Some(why.clone())
        });
        Some(failed.map_or(Ok(()), Err))
    }

    /// Why what runs must be taken off the nodes, if it must.
    pub(crate) fn enforced(&self, runs: &SchedExt) -> Option<String> {
        match self {
            Self::On(known) if known.enforces => images(runs)
                .into_iter()
                .find_map(|image| known.refusal(image)),
            Self::Off | Self::On(_) | Self::Recorded(_) => None,
        }
    }

    /// Whether the policy is known to accept every image of these fields of a spec.
    pub(crate) fn accepts(&self, spec: &Map<String, Value>) -> bool {
        let Self::On(known) = self else {
            return true;
        };
        images_in(spec)
            .iter()
            .all(|image| matches!(known.verdicts.get(*image), Some(Verdict::Accepted { .. })))
    }

    /// Whether a DaemonSet would start an image that must be taken off.
    pub(crate) fn forbids(&self, desired: &DaemonSet) -> bool {
        let Self::On(known) = self else {
            return false;
        };
        let pod = desired.spec.as_ref();
        let pod = pod.and_then(|spec| spec.template.spec.as_ref());
        let mut images = pod.into_iter().flat_map(|pod| &pod.containers);
        let is_refused = |image: &String| known.refusal(image).is_some();
        known.enforces && images.any(|one| one.image.as_ref().is_some_and(is_refused))
    }
}

impl Known {
    /// Why the policy refuses what this reference names.
    fn refusal(&self, image: &str) -> Option<String> {
        match self.verdicts.get(image)? {
            Verdict::Refused(why) => Some(why.clone()),
            Verdict::Accepted { .. } | Verdict::Trouble(_) => None,
        }
    }
}
