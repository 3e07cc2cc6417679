//! A response of libpod and what its refusals mean. libpod describes an error as
//! `{"cause": …, "message": …, "response": 404}`.

use bytes::Bytes;
use hyper::StatusCode;
use schedkit_core::sanitize::shortened;
use serde::Deserialize;

use crate::container::ContainerId;
use crate::driver::{DriverError, Runtime};

/// libpod's messages begin with the action and end with the reason, which must not be cut off.
const MAX_MESSAGE: usize = 600;
const DISK_FULL: [&str; 2] = ["no space left on device", "disk quota exceeded"];
const NO_CONTAINER: &str = "no such container";

/// A response with its whole body.
#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) attempt: String,
    pub(super) status: StatusCode,
    /// The version of Podman's API.
    pub(super) version: String,
    pub(super) body: Bytes,
    /// The container of the request, if it was about one.
    pub(super) container: Option<ContainerId>,
}

#[derive(Deserialize)]
struct ErrorBody {
    message: String,
}

impl ApiResponse {
    /// The response itself when it is a success.
    pub(super) fn accepted(self) -> Result<Self, DriverError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(self.refusal())
    }

    /// Success also when the action had been done before.
    pub(super) fn accepted_or_done(self) -> Result<(), DriverError> {
        match self.status {
            StatusCode::NOT_MODIFIED => Ok(()),
            _ => self.accepted().map(|_| ()),
        }
    }

    /// The error of a response that is not a success.
    pub(super) fn refusal(&self) -> DriverError {
        let text = String::from_utf8_lossy(&self.body);
        let message = match serde_json::from_str::<ErrorBody>(&text) {
            Ok(error) => error.message,
            Err(_) => format!("it responded with {} {text}", self.status.as_u16()),
        };
        if let Some(id) = &self.container
            && self.status == StatusCode::NOT_FOUND
            && message.contains(NO_CONTAINER)
        {
            return DriverError::NoContainer {
                runtime: Runtime::Podman,
                id: shortened(id.as_str(), MAX_MESSAGE),
            };
        }
        refused(&self.attempt, message)
    }

    /// Parses the body.
    pub(super) fn parse<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, serde_json::Error>,
    ) -> Result<T, DriverError> {
        let text = String::from_utf8_lossy(&self.body);
        parse(&text).map_err(|error| {
            let message = format!("its response cannot be parsed: {error}");
            refused(&self.attempt, shortened(&message, 300))
        })
    }
}

/// The error for a message of Podman.
pub(super) fn refused(attempt: &str, message: impl AsRef<str>) -> DriverError {
    let message = message.as_ref().trim();
    let (runtime, attempt) = (Runtime::Podman, attempt.to_owned());
    let lower = message.to_lowercase();
    if DISK_FULL.iter().any(|text| lower.contains(text)) {
        return DriverError::NoSpace { runtime, attempt };
    }
    DriverError::Refused {
        runtime,
        attempt,
        message: shortened(message, MAX_MESSAGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: [&str; 2] = [
        include_str!("../../tests/fixtures/podman-4.3/no-container.json"),
        include_str!("../../tests/fixtures/podman-5.4/no-container.json"),
    ];

    fn message(status: u16, body: &str) -> String {
        let status = StatusCode::from_u16(status).unwrap();
        let response = ApiResponse {
            attempt: "start it".to_owned(),
            status,
            version: String::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            container: Some(ContainerId::new("nope")),
        };
        response.refusal().to_string()
    }

    #[test]
    fn a_refusal_has_its_reason() {
        for text in RECORDED {
            assert_eq!(message(404, text), "Podman has no container nope");
        }
        for (status, body, expected) in [
            (
                500,
                r#"{"cause":"x","message":"no such container"}"#,
                "Podman could not start it: no such container",
            ),
            (
                404,
                r#"{"message":"crun: executable file `/a` not found"}"#,
                "Podman could not start it: crun: executable file `/a` not found",
            ),
            (
                500,
                r#"{"message":"write /var/lib/x: No space left on device"}"#,
                "no space is left on Podman's disk: cannot start it",
            ),
            (503, "", "Podman could not start it: it responded with 503"),
            (
                500,
                "a\u{1b}[2Jb",
                "Podman could not start it: it responded with 500 a�[2Jb",
            ),
        ] {
            assert_eq!(message(status, body), expected);
        }
    }
}
