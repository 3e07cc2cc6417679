//! Ctrl-C, a closed terminal, or a polite end: heard instead of died from, so that what was begun
//! can be taken back.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears the signals that ask a program to end.
#[derive(Debug)]
pub(crate) struct Interrupt {
    int: Signal,
    term: Signal,
    hangup: Signal,
}

impl Interrupt {
    /// From now on.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Ends when somebody asks.
    pub(crate) async fn heard(&mut self) {
        tokio::select! {
            _ = self.int.recv() => (),
            _ = self.term.recv() => (),
            _ = self.hangup.recv() => (),
        }
    }
}
