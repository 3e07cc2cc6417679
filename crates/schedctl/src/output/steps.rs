//! What is going on, on a terminal, while a plan is carried out. In a pipe nothing is drawn; the
//! steps go to the log, whose level decides.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use schedkit_runtime::PullProgress;

use crate::plan::{Plan, Step};

const TICK: Duration = Duration::from_millis(120);

/// The steps of one plan.
pub(crate) struct Steps<'a> {
    plan: &'a Plan,
    bar: Bar,
}

/// One line that changes.
pub(crate) struct Bar(Option<ProgressBar>);

impl<'a> Steps<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let bar = Bar::new();
        Self { plan, bar }
    }

    /// One begins.
    pub(crate) fn begins(&mut self, step: &Step) {
        let sentence = step.sentence(&self.plan.launch);
        tracing::info!("{}: {sentence}", step.word());
        self.bar.note(&sentence);
    }
}

impl Bar {
    pub(crate) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Self(Some(bar))
    }

    /// How far a pull is.
    pub(crate) fn show(&self, progress: &PullProgress) {
        match progress {
            PullProgress::Bytes { received, total } => {
                let (received, total) = (HumanBytes(*received), HumanBytes(*total));
                self.note(&format!("pull: {received} of {total}"));
            }
            PullProgress::Note(text) => self.note(&format!("pull: {text}")),
        }
    }

    fn note(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

/// Whatever comes next has the line for itself.
impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
