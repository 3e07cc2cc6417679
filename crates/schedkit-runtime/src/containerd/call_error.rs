//! Errors of calls to containerd. Used by `session` for every call.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;

use schedkit_core::sanitize::brief;
use tonic::{Code, Status};

use crate::driver::{DriverError, Runtime};

/// Go's messages for a full disk.
const DISK_FULL: [&str; 2] = ["no space left on device", "disk quota exceeded"];

/// A failed call, before its caller decides whether that is an error.
#[derive(Debug)]
pub(super) struct CallError {
    pub(super) kind: CallErrorKind,
    pub(super) driver_error: DriverError,
}

/// Kinds that a caller may expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallErrorKind {
    NotFound,
    AlreadyExists,
    Other,
}

impl CallError {
    /// From containerd's status or the end of the connection.
    pub(super) fn new(status: &Status, attempt: &str) -> Self {
        let kind = match status.code() {
            Code::NotFound => CallErrorKind::NotFound,
            Code::AlreadyExists => CallErrorKind::AlreadyExists,
            _ => CallErrorKind::Other,
        };
        let driver_error = driver_error(status, attempt);
        Self { kind, driver_error }
    }

    pub(super) fn timeout(attempt: &str, limit: Duration) -> Self {
        let driver_error = DriverError::Timeout {
            runtime: Runtime::Containerd,
            attempt: attempt.to_owned(),
            seconds: limit.as_secs(),
        };
        let kind = CallErrorKind::Other;
        Self { kind, driver_error }
    }

    /// A successful response without the expected content.
    pub(super) fn empty(attempt: &str) -> DriverError {
        DriverError::Refused {
            runtime: Runtime::Containerd,
            attempt: attempt.to_owned(),
            message: "its response is empty".to_owned(),
        }
    }
}

impl From<CallError> for DriverError {
    fn from(error: CallError) -> Self {
        error.driver_error
    }
}

/// For calls whose error may be expected.
pub(super) trait CallResult<T> {
    /// `None` when the object was not found.
    fn if_found(self) -> Result<Option<T>, DriverError>;
    /// `None` when the object already exists.
    fn unless_exists(self) -> Result<Option<T>, DriverError>;
}

impl<T> CallResult<T> for Result<T, CallError> {
    fn if_found(self) -> Result<Option<T>, DriverError> {
        unless(self, CallErrorKind::NotFound)
    }

    fn unless_exists(self) -> Result<Option<T>, DriverError> {
        unless(self, CallErrorKind::AlreadyExists)
    }
}

fn unless<T>(
    result: Result<T, CallError>,
    expected: CallErrorKind,
) -> Result<Option<T>, DriverError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind == expected => Ok(None),
        Err(error) => Err(error.driver_error),
    }
}

fn driver_error(status: &Status, attempt: &str) -> DriverError {
    let runtime = Runtime::Containerd;
    let attempt = attempt.to_owned();
    let message = status.message();
    if DISK_FULL.iter().any(|full| message.contains(full)) {
        return DriverError::NoSpace { runtime, attempt };
    }
    // A status with a source was created by the client: the connection failed.
    if let Some(source) = status.source() {
        let source = io_error(source);
        return DriverError::Disconnected {
            runtime,
            attempt,
            source,
        };
    }
    DriverError::Refused {
        runtime,
        attempt,
        message: brief(message),
    }
}

/// The error for a service that is not containerd.
pub(super) fn wrong_service(status: &Status, socket: &Path) -> DriverError {
    let response = match status.source() {
        Some(source) => io_error(source).to_string(),
        None => status.message().to_owned(),
    };
    DriverError::WrongService {
        runtime: Runtime::Containerd,
        socket: socket.to_owned(),
        response: brief(&response),
    }
}

/// The innermost cause: the outer ones only say "transport error".
fn io_error(outer: &(dyn Error + 'static)) -> io::Error {
    let mut error = outer;
    loop {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return io::Error::new(io.kind(), io.to_string());
        }
        match error.source() {
            Some(inner) => error = inner,
            None => return io::Error::other(brief(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_becomes_an_error_with_its_kind() {
        let error = |status| CallError::new(&status, "start it");
        assert_eq!(error(Status::not_found("x")).kind, CallErrorKind::NotFound);
        assert_eq!(
            error(Status::already_exists("x")).kind,
            CallErrorKind::AlreadyExists
        );
        let full = error(Status::unknown("write /a: no space left on device"));
        assert!(matches!(full.driver_error, DriverError::NoSpace { .. }));
        let no = error(Status::internal("bad\u{1b}[2J"));
        assert_eq!(
            no.driver_error.to_string(),
            "containerd could not start it: bad\u{fffd}[2J"
        );
        let cut = error(Status::from_error(Box::new(io::Error::from(
            io::ErrorKind::BrokenPipe,
        ))));
        assert!(
            matches!(cut.driver_error, DriverError::Disconnected { .. }),
            "{cut:?}"
        );
    }

    #[test]
    fn only_the_expected_kind_is_no_error() {
        let missing = || Err::<(), _>(CallError::new(&Status::not_found("x"), "a"));
        assert!(missing().if_found().unwrap().is_none());
        assert!(missing().unless_exists().is_err());
    }
}
