//! Progress of a lab's start: which step runs, how long it took, and whether the lab is ready. The
//! supervisor writes each [`Event`] as a JSON line to its standard output; `progress_bars.rs` shows them.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::state::RunningLab;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Started {
        /// Several steps run at the same time.
        step: u64,
        /// For people: "fetching QEMU".
        what: String,
    },
    Finished {
        step: u64,
        millis: u64,
        /// Whether it succeeded.
        good: bool,
    },
    Ready {
        lab: Box<RunningLab>,
    },
    /// The lab did not start, and nothing of it runs.
    Failed {
        message: String,
    },
}

/// Writes events; its clones can be used in several threads.
#[derive(Clone)]
pub struct Reporter {
    sink: Arc<Mutex<Box<dyn Write + Send>>>,
    steps: Arc<AtomicU64>,
}

impl Reporter {
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self {
            sink: Arc::new(Mutex::new(Box::new(sink))),
            steps: Arc::default(),
        }
    }

    /// Calls `work` and reports its start, end and success.
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

    /// Writes an event or a response. Errors are ignored: a detached lab outlives its reader.
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
    fn a_step_reports_its_start_and_end() {
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
