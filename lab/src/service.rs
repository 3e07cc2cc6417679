//! A program that runs for as long as the lab does.
//!
//! Nothing here ends a service: they all live in the keeper's process namespace, and the kernel
//! ends them with it.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::command::{self, CommandError};

/// How long to wait between two looks at something that is coming up.
const PAUSE: Duration = Duration::from_millis(200);

/// A running program.
#[derive(Debug)]
pub struct Service {
    name: String,
    child: Child,
    log: PathBuf,
}

/// Why a service is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It ended by itself.
    #[error("{name} ended with {status}{last_words}")]
    Ended {
        /// Which.
        name: String,
        /// How.
        status: ExitStatus,
        /// What it said last.
        last_words: String,
    },
    /// It runs but does not answer.
    #[error("{name} is not ready after {seconds} s: see {log}{last_words}")]
    Late {
        /// Which.
        name: String,
        /// How long we waited.
        seconds: u64,
        /// Where it writes.
        log: PathBuf,
        /// What it said last.
        last_words: String,
    },
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] CommandError),
    /// The system refused to tell.
    #[error("cannot watch a service")]
    Io(#[from] io::Error),
}

impl Service {
    /// Starts a program, its output going to `log`.
    pub fn start(name: &str, command: &mut Command, log: PathBuf) -> Result<Self, ServiceError> {
        let child = command
            .stdin(Stdio::null())
            .stdout(command::append(&log)?)
            .stderr(command::append(&log)?)
            .spawn()
            .map_err(|source| CommandError::Start {
                program: command.get_program().to_string_lossy().into_owned(),
                source,
            })?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until `is_ready` says so; ends early when the service does.
    pub fn wait_until(
        &mut self,
        patience: Duration,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), ServiceError> {
        let begin = Instant::now();
        while !is_ready() {
            if let Some(status) = self.child.try_wait()? {
                return Err(ServiceError::Ended {
                    name: self.name.clone(),
                    status,
                    last_words: self.last_words(),
                });
            }
            if begin.elapsed() > patience {
                return Err(ServiceError::Late {
                    name: self.name.clone(),
                    seconds: patience.as_secs(),
                    log: self.log.clone(),
                    last_words: self.last_words(),
                });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        command::last_words(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> (tempfile::TempDir, Service) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("service.log");
        let service =
            Service::start("thing", Command::new("sh").args(["-c", script]), log).unwrap();
        (folder, service)
    }

    #[test]
    fn a_service_that_ends_is_an_error_with_its_last_words() {
        let (_folder, mut service) = start("echo port in use; exit 4");
        let error = service
            .wait_until(Duration::from_secs(60), || false)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("thing ended with exit status: 4\n    port in use"),
            "{error}"
        );
    }

    #[test]
    fn a_service_that_never_gets_ready_is_late() {
        let (_folder, mut service) = start("exec sleep 5");
        let error = service.wait_until(Duration::ZERO, || false).unwrap_err();
        assert!(matches!(error, ServiceError::Late { .. }), "{error}");
        service.child.kill().unwrap();
        service.child.wait().unwrap();
    }
}
