//! The shape of a DaemonSet: a hash of everything in it that is ours to say, so that a live one
//! can be held against a wanted one without keeping either.
//!
//! What the API server fills in by itself is left out, and so is what `kubectl rollout restart`
//! writes. Everything else counts, also what somebody added.

/// A hash of what a DaemonSet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(pub [u8; 16]);
