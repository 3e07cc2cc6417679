//! Draws the steps of a lab coming up: moving on a terminal, one line a step elsewhere.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use lab::Event;

/// Where steps are drawn.
pub(crate) struct Screen {
    bars: MultiProgress,
    steps: HashMap<u64, (String, ProgressBar)>,
    moving: bool,
}

impl Screen {
    /// Draws on standard error.
    pub(crate) fn new() -> Self {
        Self {
            bars: MultiProgress::new(),
            steps: HashMap::new(),
            moving: std::io::stderr().is_terminal(),
        }
    }

    /// Shows what happened.
    pub(crate) fn show(&mut self, event: &Event) {
        match event {
            Event::Started { step, what } => {
                let bar = if self.moving {
                    self.spin(what)
                } else {
                    ProgressBar::hidden()
                };
                if !self.moving {
                    say(&format!("…    {what}"));
                }
                self.steps.insert(*step, (what.clone(), bar));
            }
            Event::Finished { step, millis, good } => {
                if let Some((what, bar)) = self.steps.remove(step) {
                    bar.finish_and_clear();
                    let mark = if *good { "ok" } else { "FAIL" };
                    let line = format!("{mark:4} {what} {}", seconds(*millis));
                    self.bars.suspend(|| say(&line));
                }
            }
            Event::Ready { .. } | Event::Failed { .. } => {
                for (_, (_, bar)) in self.steps.drain() {
                    bar.finish_and_clear();
                }
            }
        }
    }

    fn spin(&self, what: &str) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner}    {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    }
}

fn seconds(millis: u64) -> String {
    format!("({}.{} s)", millis / 1000, millis % 1000 / 100)
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
