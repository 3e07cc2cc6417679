//! The share of this machine's processors that other virtual machines had, over time: the "steal"
//! of `/proc/stat`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;

const INTERVAL: Duration = Duration::from_millis(200);

/// All time of all processors since the boot, and the part of it that was stolen.
#[derive(Clone, Copy)]
struct Times {
    at: Instant,
    all: u64,
    stolen: u64,
}

#[derive(Clone, Default)]
pub(crate) struct StolenTime(Arc<Mutex<Vec<Times>>>);

impl StolenTime {
    /// Records it from now on.
    pub(crate) fn start() -> Self {
        let stolen_time = Self::default();
        let recording = stolen_time.clone();
        std::thread::spawn(move || {
            loop {
                let times = read().unwrap();
                recording.0.lock().unwrap().push(times);
                std::thread::sleep(INTERVAL);
            }
        });
        stolen_time
    }

    /// Between two moments, from 0 to 1.
    pub(crate) fn share(&self, from: Instant, to: Instant) -> f64 {
        let all = self.0.lock().unwrap();
        let first = all.iter().rfind(|times| times.at <= from);
        let last = all.iter().find(|times| times.at >= to);
        let (Some(first), Some(last)) = (first.or(all.first()), last.or(all.last())) else {
            return 0.0;
        };
        (last.stolen - first.stolen) as f64 / (last.all - first.all).max(1) as f64
    }
}

fn read() -> anyhow::Result<Times> {
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
        stolen: *times.get(7).context("/proc/stat has no stolen time")?,
    })
}
