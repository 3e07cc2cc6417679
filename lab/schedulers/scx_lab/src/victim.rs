//! The thread that `--fault stall` starves.
//!
//! `run.rs` starts it once. The BPF program knows it by its name, which unlike a thread id is the
//! same inside and outside of a container. It never ends by itself: it ends with the process.

use std::{io, thread, time::Duration};

/// Also `VICTIM_COMM` in `bpf/lab.bpf.c`.
const NAME: &str = "lab-victim";

/// Starts a thread that wakes up a thousand times per second.
///
/// A thread that only spins would be left running by the kernel for as long as nobody else wants
/// its CPU, and would never come to the queue where it is to be dropped. One that keeps waking up
/// comes there at once, and stays runnable from then on.
pub(crate) fn start() -> io::Result<()> {
    thread::Builder::new().name(NAME.to_owned()).spawn(|| {
        loop {
            thread::sleep(Duration::from_millis(1));
        }
    })?;
    Ok(())
}
