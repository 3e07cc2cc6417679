//! A program that runs for as long as the lab does, unless somebody asks for a pause.
//!
//! Whoever lets go of a service does not end it: they all live in the supervisor's process namespace,
//! and the kernel ends them with it. [`Service::stop`] is for a fault on purpose, and the service
//! can be started again the way it was.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::command::{self, CommandError};

/// How long to wait between two looks at something that is coming up.
const PAUSE: Duration = Duration::from_millis(200);

/// A program of the lab.
pub struct Service {
    name: String,
    command: Command,
    /// Nothing once its end is known.
    child: Option<Child>,
    log: PathBuf,
    is_ready: Box<dyn Fn() -> bool + Send>,
}

/// How a service is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopSignal {
    /// SIGTERM: the service may take its time.
    Term,
    /// SIGKILL.
    Kill,
}

/// Why a service is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It ended by itself.
    #[error("{name} ended with {status}{output_tail}")]
    Ended {
        /// Which.
        name: String,
        /// How.
        status: ExitStatus,
        /// What it said last.
        output_tail: String,
    },
    /// It runs but does not answer.
    #[error("{name} is not ready after {seconds} s: see {log}{output_tail}")]
    Late {
        /// Which.
        name: String,
        /// How long we waited.
        seconds: u64,
        /// Where it writes.
        log: PathBuf,
        /// What it said last.
        output_tail: String,
    },
    /// It was told to end and does not.
    #[error("{name} has not ended after {seconds} s: see {log}{output_tail}")]
    StillThere {
        /// Which.
        name: String,
        /// How long we waited.
        seconds: u64,
        /// Where it writes.
        log: PathBuf,
        /// What it said last.
        output_tail: String,
    },
    /// Two of them would be in each other's way.
    #[error("cannot start {0}: it runs")]
    Runs(String),
    /// There is nothing to stop.
    #[error("cannot stop {0}: it does not run")]
    RunsNot(String),
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] CommandError),
    /// The system refused to tell.
    #[error("cannot watch a service")]
    Io(#[from] io::Error),
}

impl Service {
    /// Starts a program, its output going to `log`.
    pub fn start(name: &str, mut command: Command, log: PathBuf) -> Result<Self, ServiceError> {
        command
            .stdin(Stdio::null())
            .stdout(command::append(&log)?)
            .stderr(command::append(&log)?);
        let child = spawn(&mut command)?;
        Ok(Self {
            name: name.to_owned(),
            command,
            child: Some(child),
            log,
            is_ready: Box::new(|| true),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it ended, if it has by itself; told once.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok().flatten();
        if status.is_some() {
            self.child = None;
        }
        status
    }

    /// Waits until `is_ready` says so, now and whenever it is started again.
    pub fn ready_when(
        &mut self,
        timeout: Duration,
        is_ready: impl Fn() -> bool + Send + 'static,
    ) -> Result<(), ServiceError> {
        self.wait_until(timeout, &is_ready)?;
        self.is_ready = Box::new(is_ready);
        Ok(())
    }

    /// Waits until `is_ready` says so; ends early when the service does.
    pub fn wait_until(
        &mut self,
        timeout: Duration,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), ServiceError> {
        let begin = Instant::now();
        while !is_ready() {
            if let Some(status) = self.ended() {
                return Err(ServiceError::Ended {
                    name: self.name.clone(),
                    status,
                    output_tail: self.output_tail(),
                });
            }
            if begin.elapsed() > timeout {
                return Err(ServiceError::Late {
                    name: self.name.clone(),
                    seconds: timeout.as_secs(),
                    log: self.log.clone(),
                    output_tail: self.output_tail(),
                });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends it and waits until it is gone: a new API server on the port of one that is still
    /// there would leave every client hanging.
    pub fn stop(&mut self, signal: StopSignal, timeout: Duration) -> Result<(), ServiceError> {
        let child = self.child.as_mut();
        let child = child.ok_or_else(|| ServiceError::RunsNot(self.name.clone()))?;
        let signal = match signal {
            StopSignal::Term => Signal::TERM,
            StopSignal::Kill => Signal::KILL,
        };
        if child.try_wait()?.is_none() {
            kill_process(Pid::from_child(child), signal).map_err(io::Error::from)?;
        }
        let begin = Instant::now();
        while child.try_wait()?.is_none() {
            if begin.elapsed() > timeout {
                return Err(ServiceError::StillThere {
                    name: self.name.clone(),
                    seconds: timeout.as_secs(),
                    log: self.log.clone(),
                    output_tail: self.output_tail(),
                });
            }
            std::thread::sleep(PAUSE / 10);
        }
        self.child = None;
        Ok(())
    }

    /// Starts it again the way it was started, and waits until it is ready.
    pub fn resume(&mut self, timeout: Duration) -> Result<(), ServiceError> {
        // What ended by itself and was not looked at yet may be started, too.
        self.ended();
        if self.child.is_some() {
            return Err(ServiceError::Runs(self.name.clone()));
        }
        self.child = Some(spawn(&mut self.command)?);
        let is_ready = std::mem::replace(&mut self.is_ready, Box::new(|| true));
        let ready = self.wait_until(timeout, &is_ready);
        self.is_ready = is_ready;
        ready
    }

    fn output_tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        command::output_tail(&String::from_utf8_lossy(&text))
    }
}

fn spawn(command: &mut Command) -> Result<Child, CommandError> {
    command.spawn().map_err(|source| CommandError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, child, log, ..
        } = self;
        let mut debug = f.debug_struct("Service");
        debug.field("name", name).field("child", child);
        debug.field("log", log).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> (tempfile::TempDir, Service) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("service.log");
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let service = Service::start("thing", command, log).unwrap();
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
        service
            .stop(StopSignal::Kill, Duration::from_secs(60))
            .unwrap();
    }
}
