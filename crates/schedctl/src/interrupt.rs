//! SIGINT, SIGTERM and SIGHUP as a future, so that a command can undo what it has begun.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug)]
pub(crate) struct Interrupt {
    int: Signal,
    term: Signal,
    hangup: Signal,
}

impl Interrupt {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.int.recv() => (),
            _ = self.term.recv() => (),
            _ = self.hangup.recv() => (),
        }
    }
}
