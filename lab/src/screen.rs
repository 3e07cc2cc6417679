//! Draws the steps of a lab coming up, and those of the demo: moving on a terminal, lines elsewhere.
//! For the `lab` command and the demo; nothing is decided here.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::progress::Event;

/// The number of a step of ours: far from those that a supervisor counts up.
const OURS: u64 = u64::MAX;

/// Where steps are drawn.
#[derive(Debug, Default)]
pub struct Screen {
    bars: MultiProgress,
    steps: HashMap<u64, (String, ProgressBar)>,
    moving: bool,
}

impl Screen {
    /// Draws on standard error.
    pub fn new() -> Self {
        Self {
            bars: MultiProgress::new(),
            steps: HashMap::new(),
            moving: std::io::stderr().is_terminal(),
        }
    }

    /// Does a piece of work that takes a while, drawn like the steps of a lab.
    pub fn step<T, E>(
        &mut self,
        what: impl Into<String>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let (step, what) = (OURS, what.into());
        self.show(&Event::Started { step, what });
        let begin = Instant::now();
        let result = work();
        self.show(&Event::Finished {
            step,
            millis: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
            good: result.is_ok(),
        });
        result
    }

    /// Does a piece of work whose name was said already: something moves while it lasts, and
    /// nothing is left of that.
    pub fn busy<T>(&self, work: impl FnOnce() -> T) -> T {
        let bar = if self.moving {
            self.spin("")
        } else {
            ProgressBar::hidden()
        };
        let result = work();
        bar.finish_and_clear();
        result
    }

    /// Shows what happened.
    pub fn show(&mut self, event: &Event) {
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
