//! What both halves of the demo print: titles, commands with their output, progress of slow steps,
//! and the state of the node's kernel. An unexpected result is an error.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::{Event, Lab, ProgressBars, command};

const NODE: &str = "node1";
/// Generous: the node's processor is emulated.
const TIMEOUT: Duration = Duration::from_secs(300);
/// No scheduler is attached.
pub(crate) const NOTHING: &str = "";
const ASK: &str = "cd /sys/kernel/sched_ext && grep -s . state enable_seq nr_rejected root/ops";

pub(crate) struct Stage {
    progress_bars: ProgressBars,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let progress_bars = ProgressBars::new();
        Self { progress_bars }
    }

    pub(crate) fn title(&self, text: &str) -> anyhow::Result<()> {
        let (bold, plain) = if std::io::stdout().is_terminal() {
            ("\x1b[1m", "\x1b[0m")
        } else {
            ("", "")
        };
        self.say(&format!("\n{bold}== {text}{plain}"))
    }

    pub(crate) fn say(&self, text: &str) -> anyhow::Result<()> {
        writeln!(std::io::stdout(), "{text}")?;
        Ok(())
    }

    /// A step of the lab.
    pub(crate) fn show(&mut self, event: &Event) {
        self.progress_bars.show(event);
    }

    /// A step of ours that takes a while.
    pub(crate) fn step<T, E: Into<anyhow::Error>>(
        &mut self,
        what: impl Into<String>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> anyhow::Result<T> {
        self.progress_bars.step(what, work).map_err(Into::into)
    }

    /// Shows a command before it is run, and that it runs.
    pub(crate) fn run<T>(&self, command: &str, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        self.say(command)?;
        Ok(self.progress_bars.busy(work))
    }

    /// Shows a kubectl command and its output.
    pub(crate) fn kubectl(&self, lab: &Lab, args: &str) -> anyhow::Result<()> {
        let output = self.run(&format!("$ kubectl {args}"), || ask(lab, args))??;
        self.say(output.trim_end())
    }

    /// Has kubectl wait for something.
    pub(crate) fn await_cluster(
        &mut self,
        lab: &Lab,
        what: &str,
        args: &str,
    ) -> anyhow::Result<()> {
        let timeout = TIMEOUT.as_secs();
        self.step(what, || ask(lab, &format!("{args} --timeout={timeout}s")))?;
        Ok(())
    }

    /// Waits for this state of the kernel.
    pub(crate) fn await_kernel(&mut self, lab: &Lab, state: &str) -> anyhow::Result<()> {
        let node = lab.node(NODE)?;
        let what = format!("waiting until the kernel reports {state}");
        self.step(&what, || {
            node.eventually(&what, TIMEOUT, || {
                let output = node.run(&["cat", "/sys/kernel/sched_ext/state"])?;
                Ok((output.stdout.trim() == state).then_some(()))
            })
        })
        .with_context(|| format!("see {}", lab.state().path("logs").display()))
    }

    /// Shows the kernel's sysfs files and checks its state and how the name of the attached scheduler
    /// begins.
    pub(crate) fn kernel(&self, lab: &Lab, state: &str, ops: &str) -> anyhow::Result<()> {
        let output = self.on_node(lab, ASK)?;
        let has = |args: String| output.lines().any(|line| line.starts_with(&args));
        ensure!(
            has(format!("state:{state}")) && has(format!("root/ops:{ops}")) == (ops != NOTHING),
            "the kernel does not report {state:?} {ops:?} any more"
        );
        Ok(())
    }

    /// Shows a command on the node and its output.
    pub(crate) fn on_node(&self, lab: &Lab, script: &str) -> anyhow::Result<String> {
        let node = lab.node(NODE)?;
        let output = self
            .run(&format!("{NODE} # {script}"), || node.shell(script))??
            .stdout;
        self.say(output.trim_end())?;
        Ok(output)
    }
}

fn ask(lab: &Lab, args: &str) -> anyhow::Result<String> {
    let mut kubectl = lab.kubectl()?;
    kubectl
        .current_dir(lab::operator::tree())
        .args(args.split(' '));
    Ok(command::read(&mut kubectl)?)
}
