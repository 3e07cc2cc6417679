//! What an answer other than yes means. Called by `session` for every call.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;

use schedkit_core::foreign::brief;
use tonic::{Code, Status};

use crate::driver::{DriverError, Runtime};

/// How the kernel says that a disk is full, in Go's words.
const FULL: [&str; 2] = ["no space left on device", "disk quota exceeded"];

/// A call that failed, before somebody decides whether that matters.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) error: DriverError,
}

/// Answers that are sometimes good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// There is no such thing.
    Missing,
    /// There is one already.
    Exists,
    /// Anything else.
    Other,
}

impl Fault {
    /// From containerd's answer, or the connection's end.
    pub(super) fn new(status: &Status, attempt: &str) -> Self {
        let kind = match status.code() {
            Code::NotFound => Kind::Missing,
            Code::AlreadyExists => Kind::Exists,
            _ => Kind::Other,
        };
        let error = explain(status, attempt);
        Self { kind, error }
    }

    /// No answer.
    pub(super) fn too_slow(attempt: &str, limit: Duration) -> Self {
        let error = DriverError::TooSlow {
            runtime: Runtime::Containerd,
            attempt: attempt.to_owned(),
            seconds: limit.as_secs(),
        };
        let kind = Kind::Other;
        Self { kind, error }
    }

    /// An answer that says yes and lacks what was asked for.
    pub(super) fn empty(attempt: &str) -> DriverError {
        DriverError::Refused {
            runtime: Runtime::Containerd,
            attempt: attempt.to_owned(),
            said: "its answer is empty".to_owned(),
        }
    }
}

impl From<Fault> for DriverError {
    fn from(fault: Fault) -> Self {
        fault.error
    }
}

/// Where absence is an answer.
pub(super) trait Absence<T> {
    /// Nothing, when there is no such thing.
    fn if_there(self) -> Result<Option<T>, DriverError>;
    /// Nothing, when there is one already.
    fn unless_there(self) -> Result<Option<T>, DriverError>;
}

impl<T> Absence<T> for Result<T, Fault> {
    fn if_there(self) -> Result<Option<T>, DriverError> {
        excuse(self, Kind::Missing)
    }

    fn unless_there(self) -> Result<Option<T>, DriverError> {
        excuse(self, Kind::Exists)
    }
}

fn excuse<T>(answer: Result<T, Fault>, excused: Kind) -> Result<Option<T>, DriverError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(fault) if fault.kind == excused => Ok(None),
        Err(fault) => Err(fault.error),
    }
}

fn explain(status: &Status, attempt: &str) -> DriverError {
    let runtime = Runtime::Containerd;
    let attempt = attempt.to_owned();
    let said = status.message();
    if FULL.iter().any(|full| said.contains(full)) {
        return DriverError::NoSpace { runtime, attempt };
    }
    // A status that was made here, not there, wraps what happened to the connection.
    if let Some(source) = status.source() {
        let source = io_error(source);
        return DriverError::Cut {
            runtime,
            attempt,
            source,
        };
    }
    let said = brief(said);
    DriverError::Refused {
        runtime,
        attempt,
        said,
    }
}

/// What answers is not containerd, or not any more.
pub(super) fn stranger(status: &Status, socket: &Path) -> DriverError {
    let said = match status.source() {
        Some(source) => io_error(source).to_string(),
        None => status.message().to_owned(),
    };
    DriverError::Stranger {
        runtime: Runtime::Containerd,
        socket: socket.to_owned(),
        said: brief(&said),
    }
}

/// The innermost reason: the outer ones say "transport error" and nothing else.
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
    fn answers_become_errors_with_their_kind() {
        let fault = |status| Fault::new(&status, "start it");
        assert_eq!(fault(Status::not_found("x")).kind, Kind::Missing);
        assert_eq!(fault(Status::already_exists("x")).kind, Kind::Exists);
        let full = fault(Status::unknown("write /a: no space left on device"));
        assert!(matches!(full.error, DriverError::NoSpace { .. }));
        let no = fault(Status::internal("bad\u{1b}[2J"));
        assert_eq!(
            no.error.to_string(),
            "containerd could not start it: bad\u{fffd}[2J"
        );
        let cut = fault(Status::from_error(Box::new(io::Error::from(
            io::ErrorKind::BrokenPipe,
        ))));
        assert!(matches!(cut.error, DriverError::Cut { .. }), "{cut:?}");
    }

    #[test]
    fn only_the_excused_kind_is_excused() {
        let missing = || Err::<(), _>(Fault::new(&Status::not_found("x"), "a"));
        assert!(missing().if_there().unwrap().is_none());
        assert!(missing().unless_there().is_err());
    }
}
