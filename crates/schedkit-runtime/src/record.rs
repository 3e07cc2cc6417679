//! What is stored about a container in its labels: the only data that a later command has.
//!
//! The label `provider=schedkit` is part of the interface; the others are internal. All are written for
//! every container, an empty one where there is no value: Podman gives a container the labels of its
//! image, and a label that was not written would be the image's. Empty means absent; containerd does
//! not store empty ones.
//!
//! Labels are read only where [`crate::ownership`] says that a container is ours.

use std::collections::BTreeMap;

use schedkit_core::sanitize::shortened;
use schedkit_image::signature::{Signer, Trusted};

use crate::launch::Launch;

/// The label that all containers of schedctl have.
pub const PROVIDER: (&str, &str) = ("provider", "schedkit");

const SCHEDULER: &str = "io.schedkit.scheduler";
const REFERENCE: &str = "io.schedkit.reference";
const IMAGE: &str = "io.schedkit.image";
const ARGS: &str = "io.schedkit.args";
const SIGNER: &str = "io.schedkit.signer";
const POLICY: &str = "io.schedkit.policy";
const WAIVER: &str = "io.schedkit.waiver";
/// The container's own name.
pub(crate) const CONTAINER: &str = "io.schedkit.container";
/// The runtime's name or id of the image, with its hash.
pub(crate) const HASH: &str = "io.schedkit.image-hash";
/// What all our labels but the first begin with.
const PREFIX: &str = "io.schedkit.";
/// containerd refuses labels of more than 4096 bytes.
const MAX_SIGNER: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its name, such as `scx_lavd`.
    pub scheduler: Option<String>,
    /// The reference before it was pinned.
    pub requested: Option<String>,
    /// `repository@digest`.
    pub image: Option<String>,
    /// Appended to the entrypoint.
    pub args: Vec<String>,
    pub trust: Option<Trust>,
}

/// Why an image was allowed to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A signature was accepted.
    Verified {
        signer: String,
        /// The fingerprint of the policy.
        policy: String,
    },
    /// Verification was waived, for this reason.
    Waived(String),
}

/// Whether only schedctl may set this label.
pub(crate) fn is_reserved(key: &str) -> bool {
    key == PROVIDER.0 || key.starts_with(PREFIX)
}

impl Record {
    /// Only for labels that are known to be ours.
    pub(crate) fn from_labels(labels: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| labels.get(key).filter(|text| !text.is_empty()).cloned();
        let args = text(ARGS).and_then(|json| serde_json::from_str(&json).ok());
        let verified = text(SIGNER).zip(text(POLICY));
        let verified = verified.map(|(signer, policy)| Trust::Verified { signer, policy });
        Self {
            scheduler: text(SCHEDULER),
            requested: text(REFERENCE),
            image: text(IMAGE),
            args: args.unwrap_or_default(),
            trust: text(WAIVER).map(Trust::Waived).or(verified),
        }
    }
}

impl Launch {
    /// `name` is the container's, `hash` the runtime's name or id of the image.
    pub(crate) fn labels(&self, name: &str, hash: &str) -> BTreeMap<String, String> {
        let (provider, schedkit) = PROVIDER;
        let (mut signed_by, mut policy, mut waiver) = Default::default();
        match self.image() {
            Trusted::Verified(verified) => {
                signed_by = signer(verified.signer());
                policy = verified.policy().to_string();
            }
            Trusted::Kept(kept) => {
                signed_by = shortened(kept.signer(), MAX_SIGNER);
                policy = kept.policy().to_string();
            }
            Trusted::Waived(waived) => waived.reason().clone_into(&mut waiver),
        }
        let labels = [
            (provider, schedkit.to_owned()),
            (CONTAINER, name.to_owned()),
            (HASH, hash.to_owned()),
            (SCHEDULER, self.scheduler().to_owned()),
            (REFERENCE, self.requested().to_string()),
            (IMAGE, self.image().image().to_string()),
            (ARGS, serde_json::json!(self.args()).to_string()),
            (SIGNER, signed_by),
            (POLICY, policy),
            (WAIVER, waiver),
        ];
        let owned = labels.into_iter();
        owned.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn signer(signer: &Signer) -> String {
    shortened(&signer.to_string(), MAX_SIGNER)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use schedkit_core::PinnedRef;
    use schedkit_image::signature::waive;

    use super::*;

    const ALL: [&str; 10] = [
        PROVIDER.0, CONTAINER, HASH, SCHEDULER, REFERENCE, IMAGE, ARGS, SIGNER, POLICY, WAIVER,
    ];

    fn pinned() -> PinnedRef {
        let digest = format!("sha256:{:064}", 7);
        PinnedRef::new("a.b/c".parse().unwrap(), digest.parse().unwrap())
    }

    pub(crate) fn launch(scheduler: &str, args: Vec<String>, reason: &str) -> Launch {
        let image = waive(pinned(), reason).into();
        let requested = "a.b/c:1".parse().unwrap();
        Launch::new(scheduler.to_owned(), requested, image, args).unwrap()
    }

    #[test]
    fn every_label_is_written_and_empty_means_absent() {
        let labels = launch("scx_lab", Vec::new(), "asked").labels("name", "hash");
        let mut keys: Vec<&str> = ALL.to_vec();
        keys.sort_unstable();
        assert_eq!(labels.keys().collect::<Vec<_>>(), keys);
        assert_eq!(labels["provider"], "schedkit");
        assert_eq!(labels["io.schedkit.image"], pinned().to_string());
        assert_eq!(labels["io.schedkit.reference"], "a.b/c:1");
        assert_eq!(labels["io.schedkit.signer"], "");
        assert_eq!(labels["io.schedkit.policy"], "");
        let empty = BTreeMap::from(ALL.map(|key| (key.to_owned(), String::new())));
        assert_eq!(Record::from_labels(&empty), Record::default());
    }

    #[test]
    fn malformed_labels_are_ignored() {
        let mut labels = launch("x", vec!["a".to_owned()], "asked").labels("name", "hash");
        labels.insert("io.schedkit.args".to_owned(), "[1".to_owned());
        let record = Record::from_labels(&labels);
        assert_eq!(record.args, Vec::<String>::new());
        // A signer without a policy does not count.
        let signer = BTreeMap::from([("io.schedkit.signer".to_owned(), "me".to_owned())]);
        assert_eq!(Record::from_labels(&signer).trust, None);
    }

    proptest! {
        #[test]
        fn labels_round_trip(
            scheduler in "\\PC{1,40}",
            args in prop::collection::vec("[^\u{0}]{0,40}", 0..8),
            reason in "[a-z]{1,20}",
        ) {
            let launch = launch(&scheduler, args.clone(), &reason);
            let record = Record::from_labels(&launch.labels("name", "hash"));
            let expected = Record {
                scheduler: Some(scheduler),
                requested: Some("a.b/c:1".to_owned()),
                image: Some(pinned().to_string()),
                args,
                trust: Some(Trust::Waived(reason)),
            };
            prop_assert_eq!(record, expected);
        }

        /// Podman's merge: labels of the image, overwritten by ours.
        #[test]
        fn no_label_of_an_image_shows_through(
            image in prop::collection::btree_map(
                prop::sample::select(ALL.to_vec()), "\\PC{0,40}", 0..ALL.len(),
            ),
        ) {
            let launch = launch("scx_lab", Vec::new(), "asked");
            let ours = launch.labels("name", "hash");
            let image = image.into_iter().map(|(key, value)| (key.to_owned(), value));
            let mut merged: BTreeMap<_, _> = image.collect();
            merged.extend(ours.clone());
            prop_assert_eq!(Record::from_labels(&merged), Record::from_labels(&ours));
            prop_assert_eq!(
                Record::from_labels(&merged).trust,
                Some(Trust::Waived("asked".to_owned()))
            );
        }

        #[test]
        fn the_waiver_wins(waiver in "[a-z]{1,20}", signer in "[a-z]{0,20}") {
            let mut labels = launch("x", Vec::new(), &waiver).labels("name", "hash");
            labels.insert("io.schedkit.signer".to_owned(), signer);
            labels.insert("io.schedkit.policy".to_owned(), "fingerprint".to_owned());
            prop_assert_eq!(Record::from_labels(&labels).trust, Some(Trust::Waived(waiver)));
        }
    }
}
