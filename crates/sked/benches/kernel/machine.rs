//! How much of this machine's processors other virtual machines had, moment by moment: time in
//! which something here wanted to run and could not.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;

/// How often it is looked at.
const GLANCE: Duration = Duration::from_millis(200);

/// All time of all processors since the start, and the part of it that was stolen.
#[derive(Clone, Copy)]
struct Times {
    at: Instant,
    all: u64,
    stolen: u64,
}

/// Who remembers it.
#[derive(Clone, Default)]
pub(crate) struct Machine(Arc<Mutex<Vec<Times>>>);

impl Machine {
    /// Looks from now on.
    pub(crate) fn watched() -> Self {
        let machine = Self::default();
        let watch = machine.clone();
        std::thread::spawn(move || {
            loop {
                let times = times().unwrap();
                watch.0.lock().unwrap().push(times);
                std::thread::sleep(GLANCE);
            }
        });
        machine
    }

    /// The share of its processors that others had between two moments.
    pub(crate) fn stolen(&self, from: Instant, to: Instant) -> f64 {
        let all = self.0.lock().unwrap();
        let first = all.iter().rfind(|times| times.at <= from);
        let last = all.iter().find(|times| times.at >= to);
        let (Some(first), Some(last)) = (first.or(all.first()), last.or(all.last())) else {
            return 0.0;
        };
        (last.stolen - first.stolen) as f64 / (last.all - first.all).max(1) as f64
    }
}

fn times() -> anyhow::Result<Times> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let first = text.lines().next().context("/proc/stat is empty")?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are within user.
    let times: Vec<u64> = first
        .split_whitespace()
        .skip(1)
        .take(8)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(Times {
        at: Instant::now(),
        all: times.iter().sum(),
        stolen: *times.get(7).context("/proc/stat tells no stolen time")?,
    })
}
