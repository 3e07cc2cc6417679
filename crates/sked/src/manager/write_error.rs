//! Why a write to the API server failed, and whether and when to retry it.

use std::time::Duration;

use crate::error_chain::chain;

/// What to do about a missing permission.
pub(crate) const GRANT: &str =
    "apply config/rbac, or the chart, of the same version as the manager";

#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// Another manager may be the leader by now.
    #[error("not written: this manager is not the leader any more")]
    NotLeader,
    #[error("the API server did not respond within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The API server's message names the verb and the resource.
    #[error("the manager's role lacks a permission: {GRANT}")]
    NotGranted(#[source] Box<kube::Error>),
    /// The API server rejected the write, or could not be reached.
    #[error("the API server did not accept it")]
    Api(#[source] Box<kube::Error>),
}

/// When to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    Never,
    /// With a growing delay, and quietly: what was observed is outdated, and the watch delivers the
    /// change shortly.
    Outdated,
    /// With a growing delay.
    Backoff,
}

impl From<kube::Error> for WriteError {
    /// Quotas, policies and terminating namespaces are reported as 403 too; only the authorizer's
    /// message has this form.
    fn from(error: kube::Error) -> Self {
        let not_granted = |status: &kube::core::Status| {
            status.code == 403
                && status.message.contains(" cannot ")
                && status.message.contains(" resource ")
        };
        match &error {
            kube::Error::Api(status) if not_granted(status) => Self::NotGranted(Box::new(error)),
            _ => Self::Api(Box::new(error)),
        }
    }
}

impl WriteError {
    /// The HTTP status of the response, if there was one.
    pub(crate) fn status(&self) -> Option<u16> {
        self.response().map(|response| response.code)
    }

    /// The reason in the API server's response; empty if there is none.
    pub(crate) fn api_reason(&self) -> String {
        let response = self.response();
        response.map_or_else(String::new, |response| response.reason.clone())
    }

    /// The message in the API server's response, or why there is no response.
    pub(crate) fn message(&self) -> String {
        match (self.response(), self) {
            (Some(response), _) => response.message.clone(),
            (None, Self::Api(error) | Self::NotGranted(error)) => chain(error.as_ref()),
            (None, Self::NotLeader | Self::Timeout(_)) => self.to_string(),
        }
    }

    pub(crate) fn retry(&self) -> Retry {
        match (self, self.status()) {
            (Self::NotLeader, _) => Retry::Never,
            (_, Some(409)) => Retry::Outdated,
            _ => Retry::Backoff,
        }
    }

    /// A short reason for logs.
    pub(crate) fn reason(&self) -> &'static str {
        match (self, self.status()) {
            (Self::NotLeader, _) => "NotLeader",
            (Self::Timeout(_), _) => "Timeout",
            (_, Some(403)) => "Forbidden",
            (_, Some(404)) => "NotFound",
            (_, Some(409)) => "Conflict",
            (_, Some(422)) => "Invalid",
            (_, Some(429)) => "TooManyRequests",
            (_, Some(_)) => "Refused",
            (_, None) => "Unreachable",
        }
    }

    fn response(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api(error) | Self::NotGranted(error) => match error.as_ref() {
                kube::Error::Api(response) => Some(response),
                _ => None,
            },
            Self::NotLeader | Self::Timeout(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: u16, message: &str) -> WriteError {
        let status = kube::core::Status {
            code,
            message: message.to_owned(),
            reason: "Conflict".to_owned(),
            ..kube::core::Status::default()
        };
        WriteError::from(kube::Error::Api(status.boxed()))
    }

    #[test]
    fn a_rejected_write_has_the_api_servers_message_and_its_own_retry() {
        let conflict = response(409, "the object has been modified");
        assert_eq!(
            chain(&conflict),
            "the API server did not accept it: the object has been modified"
        );
        assert_eq!(conflict.retry(), Retry::Outdated);
        assert_eq!(response(403, "").retry(), Retry::Backoff);
        assert_eq!(WriteError::NotLeader.retry(), Retry::Never);
        assert_eq!(
            (conflict.reason(), conflict.api_reason()),
            ("Conflict", "Conflict".to_owned())
        );
    }

    #[test]
    fn a_missing_permission_differs_from_other_forbidden_responses() {
        let lacks_permission = |message: &str| {
            let error = response(403, message);
            assert_eq!(
                (error.status(), error.message()),
                (Some(403), message.to_owned())
            );
            chain(&error).contains("config/rbac")
        };
        assert!(lacks_permission(
            r#"nodes "a" is forbidden: User "x" cannot patch resource "nodes" in API group "" at the cluster scope"#
        ));
        assert!(!lacks_permission(
            r#"daemonsets.apps "a" is forbidden: exceeded quota: one"#
        ));
    }
}
