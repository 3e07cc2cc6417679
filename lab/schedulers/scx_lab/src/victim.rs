//! The thread that `--fault stall` starves.
//!
//! `run.rs` starts it once. The BPF program finds it by its name, which unlike a thread id is the
//! same inside and outside of a container. It runs until the process ends.

use std::{io, thread, time::Duration};

/// Also `VICTIM_COMM` in `bpf/lab.bpf.c`.
const NAME: &str = "lab-victim";

/// Starts a thread that wakes up a thousand times per second.
///
/// The kernel would let a spinning thread run for as long as its CPU has no other work, and it would
/// never be enqueued, which is where the BPF program drops it. A thread that wakes up is enqueued at
/// once, and stays runnable from then on.
pub(crate) fn start() -> io::Result<()> {
    thread::Builder::new().name(NAME.to_owned()).spawn(|| {
        loop {
            thread::sleep(Duration::from_millis(1));
        }
    })?;
    Ok(())
}
