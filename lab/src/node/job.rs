//! A command that runs on a node in the background: its process id, output and exit status.

use std::time::Duration;

use super::access::Node;
use super::command_output::CommandOutput;
use super::error::NodeError;

/// Runs a command in a session of its own, so that it outlives the connection, and writes its
/// process id and exit status to a folder. `$!` is the command's own process: the subshell execs it.
const RUN: &str = r#"
folder=$(mktemp -d /run/lab/job.XXXXXX) || exit 1
setsid bash -c '
    folder=$1; shift
    "$@" >"$folder/out" 2>"$folder/err" </dev/null &
    echo $! >"$folder/pid.new"; mv "$folder/pid.new" "$folder/pid"
    wait $!
    echo $? >"$folder/status.new"; mv "$folder/status.new" "$folder/status"
' job "$folder" "$@" >/dev/null 2>&1 </dev/null &
until [ -e "$folder/pid" ]; do sleep 0.02; done
echo "$folder $(cat "$folder/pid")"
"#;

/// Dropping it does not end the command.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    node: Node<'a>,
    folder: String,
    pid: u32,
}

impl<'a> Node<'a> {
    /// Starts a command in the background, its output kept in files.
    pub fn background(&self, args: &[impl AsRef<str>]) -> Result<Job<'a>, NodeError> {
        let mut all = vec!["bash", "-c", RUN, "bash"];
        all.extend(args.iter().map(AsRef::as_ref));
        let output = self.run(&all)?;
        let answer = self.check("start a job", &output)?;
        let parsed = answer
            .split_once(' ')
            .and_then(|(folder, pid)| Some((folder.to_owned(), pid.parse().ok()?)));
        let Some((folder, pid)) = parsed else {
            return Err(NodeError::Failed {
                node: self.name().to_owned(),
                command: "start a job".to_owned(),
                status: 0,
                output: answer,
            });
        };
        Ok(Job {
            node: *self,
            folder,
            pid,
        })
    }
}

impl Job<'_> {
    /// The command's process id on the node.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends it a signal (`KILL`, `TERM`, `STOP`, …).
    pub fn kill(&self, signal: &str) -> Result<(), NodeError> {
        let script = format!("kill -{signal} {}", self.pid);
        self.node.must(&script).map(drop)
    }

    /// Its output so far; the status is 0 while it runs.
    pub fn so_far(&self) -> Result<CommandOutput, NodeError> {
        let read = |name: &str| self.node.must(&format!("cat {}/{name}", self.folder));
        Ok(CommandOutput {
            stdout: read("out")?,
            stderr: read("err")?,
            status: self.ended()?.unwrap_or(0),
        })
    }

    /// Its exit status once it has exited: 128 plus the signal's number if a signal ended it.
    pub fn ended(&self) -> Result<Option<i32>, NodeError> {
        let script = format!("cat {}/status 2>/dev/null || true", self.folder);
        Ok(self.node.must(&script)?.parse().ok())
    }

    /// Waits until it has exited.
    pub fn wait(&self, timeout: Duration) -> Result<CommandOutput, NodeError> {
        self.node
            .eventually("a job ends", timeout, || self.ended())?;
        self.so_far()
    }
}
