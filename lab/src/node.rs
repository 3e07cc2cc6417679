//! One node of a running lab, as a test holds it: commands, files, background jobs, daemons and
//! what its kernel said.
//!
//! Everything goes through the one connection that the supervisor holds open.

mod job;
mod kernel_log;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::ssh;
use crate::state::State;

pub use job::Job;
pub use kernel_log::KernelLine;

/// One node of a running lab.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    state: &'a State,
    name: &'a str,
}

/// What a program on a node said, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit status; 255 when the node cannot be reached.
    pub status: i32,
}

/// A daemon that the node's init keeps running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// Podman's service, on `/run/podman/podman.sock`.
    Podman,
    /// containerd, on `/run/containerd/containerd.sock`.
    Containerd,
}

/// Why something could not be done on a node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A command ended badly that must not.
    #[error("{node}: `{command}` failed with status {status}: {output_tail}")]
    Failed {
        /// Which node.
        node: String,
        /// The command.
        command: String,
        /// Its status.
        status: i32,
        /// What it said.
        output_tail: String,
    },
    /// Something did not happen.
    #[error("{node}: {what}: not within {timeout:?}")]
    Late {
        /// Which node.
        node: String,
        /// What was waited for.
        what: String,
        /// For how long.
        timeout: Duration,
    },
    /// ssh could not be run.
    #[error("cannot reach the node")]
    Io(#[from] io::Error),
}

impl Daemon {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Podman, Self::Containerd];

    /// Its name on the node.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Containerd => "containerd",
        }
    }
}

impl<'a> Node<'a> {
    pub(crate) fn new(state: &'a State, name: &'a str) -> Self {
        Self { state, name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Whether it answers now.
    pub fn answers(&self) -> bool {
        ssh::is_open(self.state, self.name)
    }

    /// A command that will run there, with this process's standard streams.
    pub fn command(&self, words: &[impl AsRef<str>]) -> Command {
        ssh::on_node(self.state, self.name, words)
    }

    /// Runs a command there to its end.
    pub fn run(&self, words: &[impl AsRef<str>]) -> io::Result<CommandOutput> {
        let output = self.command(words).stdin(Stdio::null()).output()?;
        Ok(CommandOutput::from(output))
    }

    /// Runs a shell script there to its end.
    pub fn shell(&self, script: &str) -> io::Result<CommandOutput> {
        self.run(&["bash", "-c", script])
    }

    /// Runs a shell script there that must end well; what it wrote, without the last line's end.
    pub fn must(&self, script: &str) -> Result<String, NodeError> {
        let said = self.shell(script)?;
        self.judge(script, &said)
    }

    /// Writes a file there, its folders too. `mode` is as for chmod.
    pub fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), NodeError> {
        // By rename: a program that runs can be replaced, and nobody reads half a file.
        let script = r#"mkdir -p "$(dirname "$1")" && cat >"$1.new" &&
                        chmod "$2" "$1.new" && mv "$1.new" "$1""#;
        let words = ["sh", "-c", script, "sh", path, &format!("{mode:o}")];
        let mut child = self
            .command(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A node that does not take it says why itself.
            let _ = input.write_all(bytes);
        }
        let said = CommandOutput::from(child.wait_with_output()?);
        self.judge(&format!("write {path}"), &said).map(drop)
    }

    /// Copies a file of this machine there.
    pub fn put(&self, from: &Path, to: &str, mode: u32) -> Result<(), NodeError> {
        self.write(to, &fs::read(from)?, mode)
    }

    /// Stops a daemon and keeps it stopped; its containers go on, as they do elsewhere.
    pub fn stop(&self, daemon: Daemon) -> Result<(), NodeError> {
        self.must(&format!("lab-daemon stop {}", daemon.name()))?;
        Ok(())
    }

    /// Starts a daemon unless it runs, and waits until its socket listens.
    pub fn start(&self, daemon: Daemon) -> Result<(), NodeError> {
        self.must(&format!("lab-daemon start {}", daemon.name()))?;
        Ok(())
    }

    /// Its serial console's log so far: the kernel's own words as far as they are urgent.
    pub fn console(&self) -> String {
        let bytes = fs::read(self.state.log(self.name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Asks until the answer is there.
    pub fn eventually<T>(
        &self,
        what: &str,
        timeout: Duration,
        mut ask: impl FnMut() -> Result<Option<T>, NodeError>,
    ) -> Result<T, NodeError> {
        let begin = Instant::now();
        loop {
            if let Some(answer) = ask()? {
                return Ok(answer);
            }
            if begin.elapsed() >= timeout {
                return Err(NodeError::Late {
                    node: self.name.to_owned(),
                    what: what.to_owned(),
                    timeout,
                });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn judge(&self, command: &str, said: &CommandOutput) -> Result<String, NodeError> {
        if said.status == 0 {
            return Ok(said.stdout.trim_end().to_owned());
        }
        Err(NodeError::Failed {
            node: self.name.to_owned(),
            command: command.to_owned(),
            status: said.status,
            output_tail: said.text().trim().to_owned(),
        })
    }
}

impl CommandOutput {
    /// Both streams, one after the other.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().unwrap_or(255),
        }
    }
}
