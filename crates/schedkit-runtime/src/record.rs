//! What is stored about a container in its labels: the only data that a later command has.
//!
//! The label `provider=schedkit` is part of the interface; the others are internal. Containers of the
//! older schedctl have only the first, so everything else may be absent.

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

impl Record {
    pub fn from_labels(labels: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| labels.get(key).cloned();
        let args = text(ARGS).and_then(|json| serde_json::from_str(&json).ok());
        let verified = text(SIGNER).zip(text(POLICY));
        let verified = verified.map(|(signer, policy)| Trust::Verified { signer, policy });
        Self {
            scheduler: text(SCHEDULER),
            requested: text(REFERENCE),
            image: text(IMAGE),
            args: args.unwrap_or_default(),
            trust: verified.or_else(|| text(WAIVER).map(Trust::Waived)),
        }
    }
}

impl Launch {
    pub fn labels(&self) -> BTreeMap<String, String> {
        let (provider, schedkit) = PROVIDER;
        let mut labels = BTreeMap::from([
            (provider, schedkit.to_owned()),
            (SCHEDULER, self.scheduler().to_owned()),
            (REFERENCE, self.requested().to_string()),
            (IMAGE, self.image().image().to_string()),
            (ARGS, serde_json::json!(self.args()).to_string()),
        ]);
        match self.image() {
            Trusted::Verified(verified) => {
                labels.insert(SIGNER, signer(verified.signer()));
                labels.insert(POLICY, verified.policy().to_string());
            }
            Trusted::Kept(kept) => {
                labels.insert(SIGNER, shortened(kept.signer(), MAX_SIGNER));
                labels.insert(POLICY, kept.policy().to_string());
            }
            Trusted::Waived(waived) => {
                labels.insert(WAIVER, waived.reason().to_owned());
            }
        }
        let owned = labels.into_iter();
        owned.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn signer(signer: &Signer) -> String {
    shortened(&signer.to_string(), MAX_SIGNER)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schedkit_core::PinnedRef;
    use schedkit_image::signature::waive;

    use super::*;

    fn pinned() -> PinnedRef {
        let digest = format!("sha256:{:064}", 7);
        PinnedRef::new("a.b/c".parse().unwrap(), digest.parse().unwrap())
    }

    fn launch(scheduler: &str, args: Vec<String>, reason: &str) -> Launch {
        let image = waive(pinned(), reason).into();
        let requested = "a.b/c:1".parse().unwrap();
        Launch::new(scheduler.to_owned(), requested, image, args).unwrap()
    }

    #[test]
    fn a_container_of_the_older_schedctl_has_one_label_only() {
        let labels = BTreeMap::from([("provider".to_owned(), "schedkit".to_owned())]);
        assert_eq!(Record::from_labels(&labels), Record::default());
    }

    #[test]
    fn every_container_has_the_provider_label() {
        let labels = launch("scx_lab", Vec::new(), "asked").labels();
        assert_eq!(labels["provider"], "schedkit");
        assert_eq!(labels["io.schedkit.image"], pinned().to_string());
        assert_eq!(labels["io.schedkit.reference"], "a.b/c:1");
        assert!(!labels.contains_key("io.schedkit.signer"));
    }

    #[test]
    fn malformed_labels_are_ignored() {
        let mut labels = launch("x", vec!["a".to_owned()], "asked").labels();
        labels.insert("io.schedkit.args".to_owned(), "[1".to_owned());
        // A signer without a policy does not count.
        labels.insert("io.schedkit.signer".to_owned(), "me".to_owned());
        let record = Record::from_labels(&labels);
        assert_eq!(record.args, Vec::<String>::new());
        assert_eq!(record.trust, Some(Trust::Waived("asked".to_owned())));
    }

    proptest! {
        #[test]
        fn labels_round_trip(
            scheduler in "\\PC{1,40}",
            args in prop::collection::vec("[^\u{0}]{0,40}", 0..8),
            reason in "[a-z]{1,20}",
        ) {
            let launch = launch(&scheduler, args.clone(), &reason);
            let record = Record::from_labels(&launch.labels());
            let expected = Record {
                scheduler: Some(scheduler),
                requested: Some("a.b/c:1".to_owned()),
                image: Some(pinned().to_string()),
                args,
                trust: Some(Trust::Waived(reason)),
            };
            prop_assert_eq!(record, expected);
        }
    }
}
