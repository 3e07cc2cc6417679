//! What was done, in one sentence.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Message {
    pub(crate) schedext: String,
    /// What was asked for, or written.
    pub(crate) action: String,
    pub(crate) message: String,
}
