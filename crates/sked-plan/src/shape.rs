//! The shape of a DaemonSet: a hash of everything in it that is ours to say, so that a live one
//! can be held against a wanted one without keeping either.
//!
//! ```text
//! metadata   our label, the controller             nothing else: it is others' to write on
//! spec       everything, also what somebody added  but for what the API server fills in
//!                                                  and what `kubectl rollout restart` writes
//! ```
//!
//! The same is done to a live object and to a wanted one, so a default that is spelled out equals
//! one that is not. It runs for every event of every DaemonSet and copies nothing but numbers.

mod canonical;
mod defaults;
mod difference;
mod quantity;

use serde_json::Value;
use sha2::{Digest, Sha256};

use canonical::Canonical;

pub use difference::differences;

/// A hash of what a DaemonSet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(pub [u8; 16]);

/// The shape of a whole DaemonSet, live or rendered.
pub fn shape(daemonset: &Value) -> Shape {
    let mut hash = Sha256::new();
    Canonical::of(daemonset).feed(&mut hash);
    let digest = hash.finalize();
    let mut shape = [0; 16];
    for (to, from) in shape.iter_mut().zip(digest) {
        *to = from;
    }
    Shape(shape)
}

/// Whether an annotation of a template is kubectl's: `rollout restart` works by one.
pub(crate) fn is_kubectls(annotation: &str) -> bool {
    annotation.starts_with("kubectl.kubernetes.io/")
}

#[cfg(test)]
mod tests;
