//! What is known of the signatures of a SchedExt's images.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
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
    /// That was refused before, and nobody has asked for anything else since: what the tags name is
    /// told.
    pub tells_tags: bool,
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
    /// What signatures there are do not count, or the policy refuses it whoever signed it: why, in
    /// words.
    Refused(String),
    /// Signatures are missing: why, in words.
    Unsigned(String),
    /// Nobody can tell: why, in words.
    Trouble(String),
}

/// What the policy says of something that was accepted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Accepted,
    /// Why, in words.
    Refused(String),
    /// Nobody can tell, or not yet: why, if that is worth telling.
    Unknown(Option<String>),
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
        let mut failed = None;
        for image in images(&known.asked) {
            // The policy has changed meanwhile.
            let verdict = known.verdicts.get(image)?;
            if let Verdict::Refused(why) | Verdict::Unsigned(why) | Verdict::Trouble(why) = verdict
            {
                failed.get_or_insert_with(|| why.clone());
            }
        }
        Some(failed.map_or(Ok(()), Err))
    }

    /// Whether what the policy refuses is taken off the nodes.
    pub(crate) fn enforces(&self) -> bool {
        matches!(self, Self::On(known) if known.enforces)
    }

    /// What the policy says of images that were accepted before, by their digests: of all of them.
    pub(crate) fn standing<'a>(&self, images: impl IntoIterator<Item = &'a str>) -> Standing {
        let Self::On(known) = self else {
            return Standing::Accepted;
        };
        let mut all = Standing::Accepted;
        for image in images {
            match known.standing(image) {
                Standing::Accepted => {}
                refused @ Standing::Refused(_) => return refused,
                unknown @ Standing::Unknown(_) => all = unknown,
            }
        }
        all
    }

    /// The policy's fingerprint, if it accepts all of these.
    pub(crate) fn accepted_by<'a>(
        &self,
        images: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        let Self::On(known) = self else {
            return None;
        };
        let policy = known.policy.fingerprint()?;
        (self.standing(images) == Standing::Accepted).then(|| policy.to_owned())
    }

    /// Whether a DaemonSet would start an image that must be taken off.
    pub(crate) fn forbids(&self, desired: &DaemonSet) -> bool {
        let pod = desired.spec.as_ref();
        let pod = pod.and_then(|spec| spec.template.spec.as_ref());
        let images = pod.into_iter().flat_map(|pod| &pod.containers);
        let images = images.filter_map(|one| one.image.as_deref());
        self.enforces() && matches!(self.standing(images), Standing::Refused(_))
    }
}

impl Known {
    /// What the policy says of an image that was accepted before, by its digest. What this very policy
    /// accepted was signed: if no signature is found any more, its registry has lost it, which says
    /// nothing about the image.
    pub(super) fn standing(&self, image: &str) -> Standing {
        let lost = |why: &str| {
            format!(
                "{why}, although this policy has accepted it: its registry has lost the signature"
            )
        };
        match self.verdicts.get(image) {
            Some(Verdict::Accepted { .. }) => Standing::Accepted,
            Some(Verdict::Refused(why)) => Standing::Refused(why.clone()),
            Some(Verdict::Unsigned(why)) if self.has_accepted(image) => {
                Standing::Unknown(Some(lost(why)))
            }
            Some(Verdict::Unsigned(why)) => Standing::Refused(why.clone()),
            Some(Verdict::Trouble(_)) | None if self.has_accepted(image) => Standing::Accepted,
            Some(Verdict::Trouble(why)) => Standing::Unknown(Some(why.clone())),
            None => Standing::Unknown(None),
        }
    }

    /// Whether the status records that the policy as it is now has accepted an image, by its digest.
    fn has_accepted(&self, image: &str) -> bool {
        let (Some(policy), Some(status)) = (self.policy.fingerprint(), &self.asked.status) else {
            return false;
        };
        let mut accepted = status.accepted.iter().flat_map(|accepted| &accepted.images);
        let goods = [&status.last_good, &status.previous_good].into_iter();
        let mut goods = goods.flatten();
        accepted.any(|one| one.resolved == image && one.policy == policy)
            || goods.any(|good| {
                good.policy.as_deref() == Some(policy) && images_in(&good.spec).contains(&image)
            })
    }
}
