//! Shows progress on standard error, for the `lab` command and the demo: spinners on a terminal,
//! plain lines elsewhere.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::progress::Event;

/// The number of a step of this process; the supervisor counts from 0.
const OWN_STEP: u64 = u64::MAX;

#[derive(Debug, Default)]
pub struct ProgressBars {
    bars: MultiProgress,
    steps: HashMap<u64, (String, ProgressBar)>,
    is_terminal: bool,
}

impl ProgressBars {
    pub fn new() -> Self {
        Self {
            bars: MultiProgress::new(),
            steps: HashMap::new(),
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Calls `work` and shows it like a step of a lab.
    pub fn step<T, E>(
        &mut self,
        what: impl Into<String>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let (step, what) = (OWN_STEP, what.into());
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

    /// Shows a spinner without text while `work` runs.
    pub fn busy<T>(&self, work: impl FnOnce() -> T) -> T {
        let bar = if self.is_terminal {
            self.spin("")
        } else {
            ProgressBar::hidden()
        };
        let result = work();
        bar.finish_and_clear();
        result
    }

    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Started { step, what } => {
                let bar = if self.is_terminal {
                    self.spin(what)
                } else {
                    ProgressBar::hidden()
                };
                if !self.is_terminal {
                    print_line(&format!("…    {what}"));
                }
                self.steps.insert(*step, (what.clone(), bar));
            }
            Event::Finished { step, millis, good } => {
                if let Some((what, bar)) = self.steps.remove(step) {
                    bar.finish_and_clear();
                    let mark = if *good { "ok" } else { "FAIL" };
                    let line = format!("{mark:4} {what} {}", seconds(*millis));
                    self.bars.suspend(|| print_line(&line));
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

fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
