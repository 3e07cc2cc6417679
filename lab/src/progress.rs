//! What the supervisor tells the one who asked for a lab: which step runs, how long it took, and
//! whether the lab is ready.
//!
//! The supervisor writes one JSON object a line to its standard output ([`Reporter`]); whoever
//! started it reads them back ([`Event`]). Drawing them is for whoever reads.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::state::RunningLab;

/// One thing that happened while a lab comes up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A step began.
    Started {
        /// Tells steps that run at the same time apart.
        step: u64,
        /// What it does, in words.
        what: String,
    },
    /// A step ended.
    Finished {
        /// The number it started with.
        step: u64,
        /// How long it took.
        millis: u64,
        /// Whether it did what it was to do.
        good: bool,
    },
    /// Everything runs.
    Ready {
        /// What runs and where.
        lab: Box<RunningLab>,
    },
    /// The lab could not come up; nothing of it is left.
    Failed {
        /// What happened and what to do, as a person reads it.
        message: String,
    },
}

/// The supervisor's end: cheap to clone, usable from several threads.
#[derive(Clone)]
pub struct Reporter {
    sink: Arc<Mutex<Box<dyn Write + Send>>>,
    steps: Arc<AtomicU64>,
}

impl Reporter {
    /// Reports into `sink`.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self {
            sink: Arc::new(Mutex::new(Box::new(sink))),
            steps: Arc::default(),
        }
    }

    /// Does a piece of work and tells when it began, when it ended and how.
    pub fn step<T, E>(
        &self,
        what: impl Into<String>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        let what = what.into();
        self.send(&Event::Started { step, what });
        let begin = Instant::now();
        let result = work();
        self.send(&Event::Finished {
            step,
            millis: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
            good: result.is_ok(),
        });
        result
    }

    /// Sends one event, or the answer to a request. That nobody listens any more is no reason to
    /// stop: a detached lab outlives the command that started it.
    pub fn send(&self, event: &impl Serialize) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(mut line) = serde_json::to_vec(event) {
            line.push(b'\n');
            let _ = sink.write_all(&line).and_then(|()| sink.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    struct Lines(mpsc::Sender<Vec<u8>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_step_is_told_from_beginning_to_end() {
        let (sender, receiver) = mpsc::channel();
        let reporter = Reporter::new(Lines(sender));
        let result: Result<(), &str> = reporter.step("hammering", || Err("thumb"));
        assert_eq!(result, Err("thumb"));
        drop(reporter);
        let events: Vec<Event> = receiver
            .into_iter()
            .map(|line| serde_json::from_slice(&line).unwrap())
            .collect();
        assert!(matches!(&events[0], Event::Started { step: 0, what } if what == "hammering"));
        assert!(matches!(
            events[1],
            Event::Finished {
                step: 0,
                good: false,
                ..
            }
        ));
    }
}
