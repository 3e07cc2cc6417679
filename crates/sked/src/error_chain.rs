//! What becomes of an error: whether and when to try again, and how it reads in full.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use crate::leadership::WriteError;

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Not by ourselves.
    Never,
    /// After this long, however often it happened.
    After(Duration),
    /// Later each time.
    Backoff,
}

impl WriteError {
    /// When to try again.
    pub(crate) fn retry(&self) -> Retry {
        match (self, self.status()) {
            (Self::NotLeader, _) => Retry::Never,
            // What was observed is out of date: the watch brings the news any moment.
            (_, Some(409)) => Retry::After(Duration::from_millis(100)),
            _ => Retry::Backoff,
        }
    }

    /// In a word, for metrics and logs.
    pub(crate) fn reason(&self) -> &'static str {
        match (self, self.status()) {
            (Self::NotLeader, _) => "NotLeader",
            (Self::Slow, _) => "Timeout",
            (_, Some(403)) => "Forbidden",
            (_, Some(404)) => "NotFound",
            (_, Some(409)) => "Conflict",
            (_, Some(422)) => "Invalid",
            (_, Some(429)) => "TooManyRequests",
            (_, Some(_)) => "Refused",
            (_, None) => "Unreachable",
        }
    }
}

/// An error with everything behind it, each sentence once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = sentence(error);
    let mut next = error.source();
    while let Some(source) = next {
        let more = sentence(source);
        if !text.contains(&more) {
            // Writing to a String cannot fail.
            let _ = write!(text, ": {more}");
        }
        next = source.source();
    }
    text
}

/// The client shows a refusal with all its fields; the API server's own sentence is in there. A
/// boxed error is a type of its own to whoever asks for types.
fn sentence(error: &(dyn Error + 'static)) -> String {
    let boxed = error.downcast_ref::<Box<kube::Error>>().map(Box::as_ref);
    match boxed.or_else(|| error.downcast_ref()) {
        Some(kube::Error::Api(status)) => status.message.clone(),
        _ => match error.downcast_ref::<Box<kube::core::Status>>() {
            Some(status) => status.message.clone(),
            None => error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_the_api_server_said_it_and_knows_its_fate() {
        let refused = |code| {
            let status = kube::core::Status {
                code,
                message: "the object has been modified".to_owned(),
                reason: "Conflict".to_owned(),
                ..kube::core::Status::default()
            };
            WriteError::from(kube::Error::Api(status.boxed()))
        };
        let text = chain(&refused(409));
        assert_eq!(
            text,
            "the API server did not take it: the object has been modified"
        );
        assert!(matches!(refused(409).retry(), Retry::After(_)));
        assert_eq!(refused(403).retry(), Retry::Backoff);
        assert_eq!(WriteError::NotLeader.retry(), Retry::Never);
        assert_eq!(
            (refused(409).reason(), refused(409).word()),
            ("Conflict", "Conflict".to_owned())
        );
    }

    #[test]
    fn a_right_that_is_missing_is_told_from_what_is_forbidden_otherwise() {
        let forbidden = |message: &str| {
            let status = kube::core::Status {
                code: 403,
                message: message.to_owned(),
                ..kube::core::Status::default()
            };
            let error = WriteError::from(kube::Error::Api(status.boxed()));
            assert_eq!(
                (error.status(), error.said()),
                (Some(403), message.to_owned())
            );
            chain(&error).contains("config/rbac")
        };
        let right = r#"nodes "a" is forbidden: User "x" cannot patch resource "nodes" in API group "" at the cluster scope"#;
        assert!(forbidden(right));
        assert!(!forbidden(
            r#"daemonsets.apps "a" is forbidden: exceeded quota: one"#
        ));
    }
}
