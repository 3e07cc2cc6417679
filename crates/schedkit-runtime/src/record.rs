//! What is written down about a container, as labels: the only memory between two runs.
//!
//! The label `provider=schedkit` is a contract; the others are ours. Containers of the older
//! schedctl have only the first, so everything else may be absent.

use std::collections::BTreeMap;

use schedkit_image::signature::{Signer, Trusted};

use crate::launch::Launch;

/// Whose container it is.
pub const PROVIDER: (&str, &str) = ("provider", "schedkit");

const SCHEDULER: &str = "io.schedkit.scheduler";
const REFERENCE: &str = "io.schedkit.reference";
const IMAGE: &str = "io.schedkit.image";
const ARGS: &str = "io.schedkit.args";
const SIGNER: &str = "io.schedkit.signer";
const POLICY: &str = "io.schedkit.policy";
const WAIVER: &str = "io.schedkit.waiver";
/// Longer identities exist only to annoy; containerd refuses labels of more than 4096 bytes.
const LONGEST: usize = 1000;

/// What a container's labels say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What people call the scheduler.
    pub scheduler: Option<String>,
    /// What they asked for.
    pub requested: Option<String>,
    /// What that was: `repository@digest`.
    pub image: Option<String>,
    /// What was appended to the entrypoint.
    pub args: Vec<String>,
    /// Why it was let run.
    pub trust: Option<Trust>,
}

/// Why an image was let run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A signature was accepted.
    Verified {
        /// Whose.
        signer: String,
        /// By the policy with this fingerprint.
        policy: String,
    },
    /// Somebody waived that, for this reason.
    Waived(String),
}

impl Record {
    /// From the labels of a container.
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
    /// The labels of its container.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let (provider, us) = PROVIDER;
        let mut labels = BTreeMap::from([
            (provider, us.to_owned()),
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
            Trusted::Waived(waived) => {
                labels.insert(WAIVER, waived.reason().to_owned());
            }
        }
        let owned = labels.into_iter();
        owned.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn signer(signer: &Signer) -> String {
    schedkit_core::foreign::shortened(&signer.to_string(), LONGEST)
}
