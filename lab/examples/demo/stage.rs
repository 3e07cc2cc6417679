//! What both halves of the demo do in front of the audience: say things, show commands and their
//! output, show work that takes a while, and ask the node's kernel. What is not as it is told is
//! an error.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::{Event, Lab, Screen, command};

const NODE: &str = "node1";
/// Generous: the node's processor is emulated.
const PATIENCE: Duration = Duration::from_secs(300);
/// The name of what is attached when nothing is.
pub(crate) const NOBODY: &str = "";
const ASK: &str = "cd /sys/kernel/sched_ext && grep -s . state enable_seq nr_rejected root/ops";

/// Where the demo is shown.
pub(crate) struct Stage {
    screen: Screen,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let screen = Screen::new();
        Self { screen }
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
        self.screen.show(event);
    }

    /// A step of ours that takes a while.
    pub(crate) fn step<T, E: Into<anyhow::Error>>(
        &mut self,
        what: impl Into<String>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> anyhow::Result<T> {
        self.screen.step(what, work).map_err(Into::into)
    }

    /// Shows a command before it is run, and that it runs.
    pub(crate) fn run<T>(&self, command: &str, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        self.say(command)?;
        Ok(self.screen.busy(work))
    }

    /// Shows a command of kubectl and what it says.
    pub(crate) fn kubectl(&self, lab: &Lab, words: &str) -> anyhow::Result<()> {
        let said = self.run(&format!("$ kubectl {words}"), || ask(lab, words))??;
        self.say(said.trim_end())
    }

    /// Has kubectl wait for something.
    pub(crate) fn await_cluster(
        &mut self,
        lab: &Lab,
        what: &str,
        words: &str,
    ) -> anyhow::Result<()> {
        let patience = PATIENCE.as_secs();
        self.step(what, || ask(lab, &format!("{words} --timeout={patience}s")))?;
        Ok(())
    }

    /// Waits for the kernel to say so.
    pub(crate) fn await_kernel(&mut self, lab: &Lab, state: &str) -> anyhow::Result<()> {
        let node = lab.node(NODE)?;
        let what = format!("waiting until the kernel says {state}");
        self.step(&what, || {
            node.eventually(&what, PATIENCE, || {
                let said = node.run(&["cat", "/sys/kernel/sched_ext/state"])?;
                Ok((said.stdout.trim() == state).then_some(()))
            })
        })
        .with_context(|| format!("see {}", lab.state().path("logs").display()))
    }

    /// Shows the kernel's own words, nobody's opinion of it: its state, and how the name of what is
    /// attached begins.
    pub(crate) fn kernel(&self, lab: &Lab, state: &str, ops: &str) -> anyhow::Result<()> {
        let said = self.on_node(lab, ASK)?;
        let has = |words: String| said.lines().any(|line| line.starts_with(&words));
        ensure!(
            has(format!("state:{state}")) && has(format!("root/ops:{ops}")) == (ops != NOBODY),
            "the kernel does not say {state:?} {ops:?} any more"
        );
        Ok(())
    }

    /// Shows a command on the node and what it says.
    pub(crate) fn on_node(&self, lab: &Lab, script: &str) -> anyhow::Result<String> {
        let node = lab.node(NODE)?;
        let said = self
            .run(&format!("{NODE} # {script}"), || node.shell(script))??
            .stdout;
        self.say(said.trim_end())?;
        Ok(said)
    }
}

fn ask(lab: &Lab, words: &str) -> anyhow::Result<String> {
    let mut kubectl = lab.kubectl()?;
    kubectl
        .current_dir(lab::operator::tree())
        .args(words.split(' '));
    Ok(command::read(&mut kubectl)?)
}
