//! The keeper as whoever brought the lab up holds it: its process, the lifeline that it lives by
//! and that demands go through, and what it says. `running.rs` uses it; nobody else does.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::LabError;
use crate::command;
use crate::demand::{Answer, Demand};
use crate::ground::Order;
use crate::progress::Event;
use crate::state::RunningLab;

/// The keeper's process and the pipes to it.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) process: Child,
    /// One demand at a time: the answers carry no names.
    pipes: Mutex<Pipes>,
}

/// What the keeper lives by, and what it says.
#[derive(Debug)]
struct Pipes {
    lifeline: Option<ChildStdin>,
    voice: Option<BufReader<ChildStdout>>,
}

/// Starts the keeper in namespaces of its own and listens until it is ready or gives up. The
/// keeper is no member of our process group: Ctrl-C is for us, and we take the lab down by ending.
pub(super) fn start_keeper(
    order: &Order,
    listener: impl FnMut(&Event),
) -> Result<(Keeper, Option<RunningLab>), LabError> {
    let log = command::append(&order.state.join("keeper.log"))?;
    let mut process = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child=KILL", "--"])
        .arg(program()?)
        .arg("keeper")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .process_group(0)
        .spawn()?;
    let mut pipes = Pipes {
        lifeline: process.stdin.take(),
        voice: process.stdout.take().map(BufReader::new),
    };
    if let Some(lifeline) = &mut pipes.lifeline {
        writeln!(
            lifeline,
            "{}",
            serde_json::to_string(order).map_err(io::Error::from)?
        )?;
    }
    let keeper = Keeper {
        process,
        pipes: Mutex::new(pipes),
    };
    let lab = keeper.until_ready(listener)?;
    Ok((keeper, lab))
}

impl Keeper {
    /// Nothing, when it ended before it was ready.
    fn until_ready(
        &self,
        mut listener: impl FnMut(&Event),
    ) -> Result<Option<RunningLab>, LabError> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        for line in pipes.voice.iter_mut().flat_map(BufRead::lines) {
            let Ok(event) = serde_json::from_str(&line?) else {
                continue;
            };
            listener(&event);
            match event {
                Event::Ready { lab } => return Ok(Some(*lab)),
                Event::Failed { sentence } => return Err(LabError::Failed(sentence)),
                Event::Started { .. } | Event::Finished { .. } => {}
            }
        }
        Ok(None)
    }

    pub(super) fn say(&self, demand: &Demand) -> io::Result<()> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.say(demand)
    }

    /// Nothing, when it ended instead of an answer.
    pub(super) fn ask(&self, demand: &Demand) -> io::Result<Option<Answer>> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.say(demand)?;
        let mut line = String::new();
        if let Some(voice) = &mut pipes.voice {
            voice.read_line(&mut line)?;
        }
        match line.as_str() {
            "" => Ok(None),
            line => Ok(Some(serde_json::from_str(line)?)),
        }
    }
}

impl Pipes {
    fn say(&mut self, demand: &Demand) -> io::Result<()> {
        let line = serde_json::to_string(demand)?;
        match &mut self.lifeline {
            Some(lifeline) => writeln!(lifeline, "{line}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let pipes = self.pipes.get_mut();
        drop(
            pipes
                .unwrap_or_else(PoisonError::into_inner)
                .lifeline
                .take(),
        );
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
