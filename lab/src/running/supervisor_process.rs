//! The supervisor as whoever brought the lab up holds it: its process, the control pipe that it lives by
//! and that requests go through, and what it says. `running.rs` uses it; nobody else does.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::LabError;
use crate::command;
use crate::progress::Event;
use crate::request::{Request, Response};
use crate::spec::LabSpec;
use crate::state::RunningLab;

/// The supervisor's process and the pipes to it.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) process: Child,
    /// One request at a time: the answers carry no names.
    pipes: Mutex<Pipes>,
}

/// What the supervisor lives by, and what it says.
#[derive(Debug)]
struct Pipes {
    control: Option<ChildStdin>,
    events: Option<BufReader<ChildStdout>>,
}

/// Starts the supervisor in namespaces of its own and listens until it is ready or gives up. The
/// supervisor is no member of our process group: Ctrl-C is for us, and we take the lab down by ending.
pub(super) fn start_supervisor(
    spec: &LabSpec,
    listener: impl FnMut(&Event),
) -> Result<(Supervisor, Option<RunningLab>), LabError> {
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
        events: process.stdout.take().map(BufReader::new),
    };
    if let Some(control) = &mut pipes.control {
        writeln!(
            control,
            "{}",
            serde_json::to_string(spec).map_err(io::Error::from)?
        )?;
    }
    let supervisor = Supervisor {
        process,
        pipes: Mutex::new(pipes),
    };
    let lab = supervisor.until_ready(listener)?;
    Ok((supervisor, lab))
}

impl Supervisor {
    /// Nothing, when it ended before it was ready.
    fn until_ready(
        &self,
        mut listener: impl FnMut(&Event),
    ) -> Result<Option<RunningLab>, LabError> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        for line in pipes.events.iter_mut().flat_map(BufRead::lines) {
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

    pub(super) fn say(&self, request: &Request) -> io::Result<()> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.say(request)
    }

    /// Nothing, when it ended instead of an answer.
    pub(super) fn ask(&self, request: &Request) -> io::Result<Option<Response>> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.say(request)?;
        let mut line = String::new();
        if let Some(events) = &mut pipes.events {
            events.read_line(&mut line)?;
        }
        match line.as_str() {
            "" => Ok(None),
            line => Ok(Some(serde_json::from_str(line)?)),
        }
    }
}

impl Pipes {
    fn say(&mut self, request: &Request) -> io::Result<()> {
        let line = serde_json::to_string(request)?;
        match &mut self.control {
            Some(control) => writeln!(control, "{line}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let pipes = self.pipes.get_mut();
        drop(pipes.unwrap_or_else(PoisonError::into_inner).control.take());
        let _ = self.process.wait();
    }
}

/// The `lab` program: this one, or for a test the one that was built beside it.
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
