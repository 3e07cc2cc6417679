//! The supervisor as seen from the process that starts it: a child process, the control pipe to it
//! and the events and responses that come back.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::error::LabError;
use crate::command;
use crate::progress::Event;
use crate::request::{Request, Response};
use crate::spec::LabSpec;
use crate::state::RunningLab;

/// Dropping it closes the control pipe and waits until the supervisor has exited.
#[derive(Debug)]
pub(super) struct SupervisorProcess {
    pub(super) process: Child,
    /// One request at a time: responses do not say which request they belong to.
    pipes: Mutex<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    control: Option<ChildStdin>,
    /// Events until the lab is ready, then responses.
    output: Option<BufReader<ChildStdout>>,
}

impl SupervisorProcess {
    /// Starts the supervisor in its own namespaces and passes its events on until it is ready, or
    /// has exited (then there is no [`RunningLab`]). It has a process group of its own, so that
    /// Ctrl-C reaches this process only, whose end then closes the control pipe.
    pub(super) fn start(
        spec: &LabSpec,
        listener: impl FnMut(&Event),
    ) -> Result<(Self, Option<RunningLab>), LabError> {
        let log = command::append(&spec.state.join("supervisor.log"))?;
        let mut process = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child=KILL", "--"])
            .arg(program()?)
            .arg("supervisor")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()?;
        let mut pipes = Pipes {
            control: process.stdin.take(),
            output: process.stdout.take().map(BufReader::new),
        };
        if let Some(control) = &mut pipes.control {
            let line = serde_json::to_string(spec).map_err(io::Error::from)?;
            writeln!(control, "{line}")?;
        }
        let supervisor = Self {
            process,
            pipes: Mutex::new(pipes),
        };
        let lab = supervisor.wait_until_ready(listener)?;
        Ok((supervisor, lab))
    }

    fn wait_until_ready(
        &self,
        mut listener: impl FnMut(&Event),
    ) -> Result<Option<RunningLab>, LabError> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        for line in pipes.output.iter_mut().flat_map(BufRead::lines) {
            let Ok(event) = serde_json::from_str(&line?) else {
                continue;
            };
            listener(&event);
            match event {
                Event::Ready { lab } => return Ok(Some(*lab)),
                Event::Failed { message } => return Err(LabError::Failed(message)),
                Event::Started { .. } | Event::Finished { .. } => {}
            }
        }
        Ok(None)
    }

    /// Sends a request without waiting for a response.
    pub(super) fn send(&self, request: &Request) -> io::Result<()> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.send(request)
    }

    /// Sends a request and waits for the response; there is none if the supervisor has exited.
    pub(super) fn request(&self, request: &Request) -> io::Result<Option<Response>> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.send(request)?;
        let mut line = String::new();
        if let Some(output) = &mut pipes.output {
            output.read_line(&mut line)?;
        }
        match line.as_str() {
            "" => Ok(None),
            line => Ok(Some(serde_json::from_str(line)?)),
        }
    }
}

impl Pipes {
    fn send(&mut self, request: &Request) -> io::Result<()> {
        let line = serde_json::to_string(request)?;
        match &mut self.control {
            Some(control) => writeln!(control, "{line}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for SupervisorProcess {
    fn drop(&mut self) {
        let pipes = self.pipes.get_mut();
        let pipes = pipes.unwrap_or_else(PoisonError::into_inner);
        drop(pipes.control.take());
        let _ = self.process.wait();
    }
}

/// The `lab` program: this one, or the one that was built beside a test.
fn program() -> io::Result<PathBuf> {
    let this = std::env::current_exe()?;
    if this.file_name().is_some_and(|name| name == "lab") {
        return Ok(this);
    }
    this.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("lab"))
        .find(|path| path.is_file())
        .ok_or_else(|| io::Error::other("the lab program is not built: run `cargo build -p lab`"))
}
