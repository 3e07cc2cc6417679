//! The fingerprint of a DaemonSet: a hash of every field that sked controls, so that a live DaemonSet can
//! be compared with the desired one without storing either.
//!
//! ```text
//! metadata   our label and the controller           others may write everything else
//! spec       everything, also fields added by others, except defaults that the API server sets
//!                                                   and what `kubectl rollout restart` writes
//! ```
//!
//! Both objects are normalized the same way, so an explicit default equals an omitted one. This
//! runs for every event of every DaemonSet and copies nothing but numbers.

mod canonical;
mod defaults;
mod difference;
mod quantity;

use serde_json::Value;
use sha2::{Digest, Sha256};

use canonical::Canonical;

pub(crate) use canonical::is_kubectls;
pub use difference::differences;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 16]);

/// Of a whole DaemonSet, live or rendered.
pub fn fingerprint(daemonset: &Value) -> Fingerprint {
    let mut hash = Sha256::new();
    Canonical::of(daemonset).feed(&mut hash);
    let digest = hash.finalize();
    let mut fingerprint = [0; 16];
    for (to, from) in fingerprint.iter_mut().zip(digest) {
        *to = from;
    }
    Fingerprint(fingerprint)
}

#[cfg(test)]
mod tests;
