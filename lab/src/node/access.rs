//! Commands, files and daemons on one node.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::command_output::CommandOutput;
use super::error::NodeError;
use crate::ssh;
use crate::state::State;

/// One node of a running lab.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    state: &'a State,
    name: &'a str,
}

/// A daemon that the node's init keeps running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// Podman's service, on `/run/podman/podman.sock`.
    Podman,
    /// containerd, on `/run/containerd/containerd.sock`.
    Containerd,
}

impl Daemon {
    pub const ALL: [Self; 2] = [Self::Podman, Self::Containerd];

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

    pub fn name(&self) -> &str {
        self.name
    }

    pub fn is_reachable(&self) -> bool {
        ssh::is_open(self.state, self.name)
    }

    /// A command that runs `args` there, with this process's standard streams.
    pub fn command(&self, args: &[impl AsRef<str>]) -> Command {
        ssh::on_node(self.state, self.name, args)
    }

    /// Runs a command there to its end.
    pub fn run(&self, args: &[impl AsRef<str>]) -> io::Result<CommandOutput> {
        let output = self.command(args).stdin(Stdio::null()).output()?;
        Ok(CommandOutput::from(output))
    }

    /// Runs a shell script there to its end.
    pub fn shell(&self, script: &str) -> io::Result<CommandOutput> {
        self.run(&["bash", "-c", script])
    }

    /// Runs a shell script there and fails unless its status is 0. Returns its standard output
    /// without trailing white space.
    pub fn must(&self, script: &str) -> Result<String, NodeError> {
        let output = self.shell(script)?;
        self.check(script, &output)
    }

    /// Writes a file there and creates its folder. `mode` is as for chmod.
    pub fn write(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), NodeError> {
        // By rename: a running program can be replaced, and no reader sees half a file.
        let script = r#"mkdir -p "$(dirname "$1")" && cat >"$1.new" &&
                        chmod "$2" "$1.new" && mv "$1.new" "$1""#;
        let args = ["sh", "-c", script, "sh", path, &format!("{mode:o}")];
        let mut child = self
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // If the node cannot read it, its own error message says why.
            let _ = input.write_all(bytes);
        }
        let output = CommandOutput::from(child.wait_with_output()?);
        self.check(&format!("write {path}"), &output).map(drop)
    }

    /// Copies a file of this machine to the node.
    pub fn put(&self, from: &Path, to: &str, mode: u32) -> Result<(), NodeError> {
        self.write(to, &fs::read(from)?, mode)
    }

    /// Stops a daemon until [`Node::start`]; its containers go on.
    pub fn stop(&self, daemon: Daemon) -> Result<(), NodeError> {
        self.must(&format!("lab-daemon stop {}", daemon.name()))?;
        Ok(())
    }

    /// Starts a daemon unless it runs, and waits until its socket listens.
    pub fn start(&self, daemon: Daemon) -> Result<(), NodeError> {
        self.must(&format!("lab-daemon start {}", daemon.name()))?;
        Ok(())
    }

    /// The log of its serial console, with the urgent messages of the kernel.
    pub fn console(&self) -> String {
        let bytes = fs::read(self.state.log(self.name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Calls `check` until it returns something.
    pub fn eventually<T>(
        &self,
        what: &str,
        timeout: Duration,
        mut check: impl FnMut() -> Result<Option<T>, NodeError>,
    ) -> Result<T, NodeError> {
        let started = Instant::now();
        loop {
            if let Some(value) = check()? {
                return Ok(value);
            }
            if started.elapsed() >= timeout {
                return Err(NodeError::Timeout {
                    node: self.name.to_owned(),
                    what: what.to_owned(),
                    timeout,
                });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(super) fn check(&self, command: &str, output: &CommandOutput) -> Result<String, NodeError> {
        if output.status == 0 {
            return Ok(output.stdout.trim_end().to_owned());
        }
        Err(NodeError::Failed {
            node: self.name.to_owned(),
            command: command.to_owned(),
            status: output.status,
            output: output.text().trim().to_owned(),
        })
    }
}
