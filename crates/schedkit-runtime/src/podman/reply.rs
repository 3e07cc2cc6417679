//! What libpod's refusals mean. Its own form is `{"cause": …, "message": …, "response": 404}`.

use hyper::StatusCode;
use schedkit_core::foreign::shortened;
use serde::Deserialize;

use super::wire::Answer;
use crate::driver::{DriverError, Runtime};

/// libpod's sentences begin with what it did and end with why: cut short, they lose the why.
const LONGEST: usize = 600;
const FULL: [&str; 2] = ["no space left on device", "disk quota exceeded"];
const NO_CONTAINER: &str = "no such container";

#[derive(Deserialize)]
struct Complaint {
    message: String,
}

impl Answer {
    /// The answer, when it is a yes.
    pub(super) fn accepted(self) -> Result<Self, DriverError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(refusal(&self))
    }

    /// Whether it was done, now or before.
    pub(super) fn accepted_or_done(self) -> Result<(), DriverError> {
        match self.status {
            StatusCode::NOT_MODIFIED => Ok(()),
            _ => self.accepted().map(|_| ()),
        }
    }
}

/// What an answer that is no yes means.
pub(super) fn refusal(answer: &Answer) -> DriverError {
    let text = String::from_utf8_lossy(&answer.body);
    let said = match serde_json::from_str::<Complaint>(&text) {
        Ok(complaint) => complaint.message,
        Err(_) => format!("it says {} {text}", answer.status.as_u16()),
    };
    if let Some(id) = answer.about()
        && answer.status == StatusCode::NOT_FOUND
        && said.contains(NO_CONTAINER)
    {
        return DriverError::NoContainer {
            runtime: Runtime::Podman,
            id: shortened(id.as_str(), LONGEST),
        };
    }
    refused(&answer.attempt, said)
}

/// A no, in Podman's words.
pub(super) fn refused(attempt: &str, said: impl AsRef<str>) -> DriverError {
    let said = said.as_ref().trim();
    let (runtime, attempt) = (Runtime::Podman, attempt.to_owned());
    let lower = said.to_lowercase();
    if FULL.iter().any(|words| lower.contains(words)) {
        return DriverError::NoSpace { runtime, attempt };
    }
    let said = shortened(said, LONGEST);
    DriverError::Refused {
        runtime,
        attempt,
        said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::ContainerId;

    const RECORDED: [&str; 2] = [
        include_str!("../../tests/fixtures/podman-4.3/no-container.json"),
        include_str!("../../tests/fixtures/podman-5.4/no-container.json"),
    ];

    fn said(status: u16, body: &str) -> String {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer::new("start it", status, body, Some(ContainerId::new("nope")));
        refusal(&answer).to_string()
    }

    #[test]
    fn a_refusal_says_which_and_why() {
        for text in RECORDED {
            assert_eq!(said(404, text), "Podman has no container nope");
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
            (503, "", "Podman could not start it: it says 503"),
            (
                500,
                "a\u{1b}[2Jb",
                "Podman could not start it: it says 500 a�[2Jb",
            ),
        ] {
            assert_eq!(said(status, body), expected);
        }
    }
}
