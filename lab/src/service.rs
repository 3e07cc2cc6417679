//! A program that runs for as long as the lab does, unless a test stops it.
//!
//! Dropping a [`Service`] does not end its process: all of them live in the supervisor's PID
//! namespace, and the kernel ends them with it. A stopped service can be started again.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::command::{self, CommandError};

const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub struct Service {
    name: String,
    command: Command,
    /// Nothing once its exit has been read.
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

#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("{name} ended with {status}{output_tail}")]
    Exited {
        name: String,
        status: ExitStatus,
        output_tail: String,
    },
    #[error("{name} is not ready after {seconds} s: see {log}{output_tail}")]
    NotReady {
        name: String,
        seconds: u64,
        log: PathBuf,
        output_tail: String,
    },
    #[error("{name} has not stopped after {seconds} s: see {log}{output_tail}")]
    NotStopped {
        name: String,
        seconds: u64,
        log: PathBuf,
        output_tail: String,
    },
    #[error("cannot start {0}: it runs")]
    AlreadyRunning(String),
    #[error("cannot stop {0}: it does not run")]
    NotRunning(String),
    #[error(transparent)]
    Start(#[from] CommandError),
    #[error("cannot signal or wait for a process of the lab")]
    Process(#[from] io::Error),
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

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its exit status if it has exited by itself; returned once.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok().flatten();
        if status.is_some() {
            self.child = None;
        }
        status
    }

    /// Waits until `is_ready` holds, now and after every restart.
    pub fn ready_when(
        &mut self,
        timeout: Duration,
        is_ready: impl Fn() -> bool + Send + 'static,
    ) -> Result<(), ServiceError> {
        self.wait_until(timeout, &is_ready)?;
        self.is_ready = Box::new(is_ready);
        Ok(())
    }

    /// Waits until `is_ready` holds; fails early if the service exits.
    pub fn wait_until(
        &mut self,
        timeout: Duration,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), ServiceError> {
        let started = Instant::now();
        while !is_ready() {
            if let Some(status) = self.exited() {
                return Err(ServiceError::Exited {
                    name: self.name.clone(),
                    status,
                    output_tail: self.output_tail(),
                });
            }
            if started.elapsed() > timeout {
                return Err(ServiceError::NotReady {
                    name: self.name.clone(),
                    seconds: timeout.as_secs(),
                    log: self.log.clone(),
                    output_tail: self.output_tail(),
                });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Stops it and waits until its process is gone: clients hang when an API server starts while the
    /// old one still holds the port.
    pub fn stop(&mut self, signal: StopSignal, timeout: Duration) -> Result<(), ServiceError> {
        let child = self.child.as_mut();
        let child = child.ok_or_else(|| ServiceError::NotRunning(self.name.clone()))?;
        let signal = match signal {
            StopSignal::Term => Signal::TERM,
            StopSignal::Kill => Signal::KILL,
        };
        if child.try_wait()?.is_none() {
            kill_process(Pid::from_child(child), signal).map_err(io::Error::from)?;
        }
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if started.elapsed() > timeout {
                return Err(ServiceError::NotStopped {
                    name: self.name.clone(),
                    seconds: timeout.as_secs(),
                    log: self.log.clone(),
                    output_tail: self.output_tail(),
                });
            }
            std::thread::sleep(POLL_INTERVAL / 10);
        }
        self.child = None;
        Ok(())
    }

    /// Starts it again with the same command, and waits until it is ready.
    pub fn restart(&mut self, timeout: Duration) -> Result<(), ServiceError> {
        // A process that has exited unnoticed may be started again, too.
        self.exited();
        if self.child.is_some() {
            return Err(ServiceError::AlreadyRunning(self.name.clone()));
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
    fn a_service_that_exits_is_an_error_with_its_output() {
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
    fn a_service_that_never_gets_ready_is_an_error() {
        let (_folder, mut service) = start("exec sleep 5");
        let error = service.wait_until(Duration::ZERO, || false).unwrap_err();
        assert!(matches!(error, ServiceError::NotReady { .. }), "{error}");
        service
            .stop(StopSignal::Kill, Duration::from_secs(60))
            .unwrap();
    }
}
