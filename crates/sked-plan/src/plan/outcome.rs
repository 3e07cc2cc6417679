//! The result of executing a plan.

use crate::name::ObjectKey;

/// Execution stops at the first write that fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub failure: Option<Failure>,
    /// The rules that the plan breaks: why it was not executed.
    pub violations: Vec<String>,
}

/// A write that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub attempt: Attempt,
    pub key: ObjectKey,
    /// The HTTP status of the API server's response, if there was one.
    pub status: Option<u16>,
    /// The API server's reason (`Forbidden`, `AlreadyExists`), if it gave one.
    pub reason: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Create,
    Replace,
    Touch,
    Delete,
}
