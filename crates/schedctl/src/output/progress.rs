//! A progress line on the terminal. Without a terminal nothing is drawn; the steps of a plan are
//! logged.

use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use schedkit_runtime::PullProgress;

use crate::plan::{Plan, PlanStep};

const TICK: Duration = Duration::from_millis(120);
/// Work that is faster needs no spinner.
const SPINNER_DELAY: Duration = Duration::from_secs(1);

/// Removes its line when dropped.
pub(crate) struct Spinner(Option<ProgressBar>);

/// Shows and logs the steps of a plan.
pub(crate) struct PlanProgress<'a> {
    plan: &'a Plan,
    spinner: Spinner,
}

/// Awaits the work, with a spinner if it takes long.
pub(crate) async fn with_spinner<T>(message: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(SPINNER_DELAY, &mut work).await {
        return done;
    }
    let spinner = Spinner::new();
    spinner.show(message);
    work.await
}

impl Spinner {
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

    pub(crate) fn show_pull(&self, progress: &PullProgress) {
        match progress {
            PullProgress::Bytes { received, total } => {
                let (received, total) = (HumanBytes(*received), HumanBytes(*total));
                self.show(&format!("pull: {received} of {total}"));
            }
            PullProgress::Note(text) => self.show(&format!("pull: {text}")),
        }
    }

    fn show(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl<'a> PlanProgress<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let spinner = Spinner::new();
        Self { plan, spinner }
    }

    pub(crate) fn show(&self, step: &PlanStep) {
        let description = step.description(&self.plan.launch);
        tracing::info!("{}: {description}", step.name());
        self.spinner.show(&description);
    }
}
