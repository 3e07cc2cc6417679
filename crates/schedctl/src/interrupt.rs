//! SIGINT, SIGTERM and SIGHUP. They end a command wherever it waits; a command that has something
//! to undo, or that ends in its own way, holds them meanwhile and asks for them itself.
//!
//! ```text
//! signal ─▶ held by the command? ── no ──▶ the command is dropped: exit code 128 + signal
//!                    └── yes ─▶ `received` ─▶ the command undoes what it has begun, and ends
//! ```

use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::signal::unix::{Signal, SignalKind, signal};

const PROCESS_STATUS: &str = "/proc/self/status";

pub(crate) struct Interrupt {
    signals: RefCell<Vec<(Interrupted, Signal)>>,
    held: Cell<bool>,
}

/// While it exists, a signal does not end the command by itself.
pub(crate) struct Hold<'a>(&'a Interrupt);

/// The signal that ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by {}", self.name())]
pub(crate) enum Interrupted {
    Hangup,
    Interrupt,
    Terminate,
}

impl Interrupt {
    /// A SIGHUP that was ignored when schedctl started, as `nohup` does, stays ignored.
    pub(crate) fn listen() -> io::Result<Self> {
        let status = fs::read_to_string(PROCESS_STATUS).unwrap_or_default();
        let all = [
            Interrupted::Interrupt,
            Interrupted::Terminate,
            Interrupted::Hangup,
        ];
        let heard = all.into_iter().filter(|cause| match cause {
            Interrupted::Hangup => !is_ignored(cause.kind(), &status),
            Interrupted::Interrupt | Interrupted::Terminate => true,
        });
        let signals = heard.map(|cause| Ok((cause, signal(cause.kind())?)));
        Ok(Self::of(signals.collect::<io::Result<_>>()?))
    }

    /// For tests: another signal in the place of one.
    #[cfg(test)]
    pub(crate) fn on(cause: Interrupted, kind: SignalKind) -> io::Result<Self> {
        Ok(Self::of(vec![(cause, signal(kind)?)]))
    }

    fn of(signals: Vec<(Interrupted, Signal)>) -> Self {
        Self {
            signals: RefCell::new(signals),
            held: Cell::new(false),
        }
    }

    pub(crate) fn hold(&self) -> Hold<'_> {
        self.held.set(true);
        Hold(self)
    }

    /// Each signal is returned once.
    pub(crate) async fn received(&self) -> Interrupted {
        poll_fn(|context| self.poll(context)).await
    }

    /// Forgets the signals that have arrived.
    pub(crate) fn forget(&self) {
        let mut context = Context::from_waker(Waker::noop());
        while self.poll(&mut context).is_ready() {}
    }

    /// Awaits the command; a signal that it does not hold ends it.
    pub(crate) async fn or<T>(
        &self,
        command: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        let mut command = pin!(command);
        poll_fn(|context| {
            if !self.held.get()
                && let Poll::Ready(cause) = self.poll(context)
            {
                return Poll::Ready(Err(cause.into()));
            }
            command.as_mut().poll(context)
        })
        .await
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Interrupted> {
        let mut signals = self.signals.borrow_mut();
        for (cause, signal) in signals.iter_mut() {
            if let Poll::Ready(Some(())) = signal.poll_recv(context) {
                return Poll::Ready(*cause);
            }
        }
        Poll::Pending
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.held.set(false);
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").finish_non_exhaustive()
    }
}

impl Interrupted {
    fn kind(self) -> SignalKind {
        match self {
            Self::Hangup => SignalKind::hangup(),
            Self::Interrupt => SignalKind::interrupt(),
            Self::Terminate => SignalKind::terminate(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }
}

/// By the line `SigIgn` of a process's status: bit 0 is signal 1.
fn is_ignored(signal: SignalKind, status: &str) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = 1_u64.checked_shl(signal.as_raw_value().unsigned_abs() - 1);
    mask.zip(bit).is_some_and(|(mask, bit)| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal as Number, getpid, kill_process};

    use super::*;

    #[test]
    fn the_ignored_signals_are_a_mask() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t3\nSigIgn:\t{mask}\n");
        for (mask, hangup, interrupt) in [
            ("0000000000000000", false, false),
            ("0000000000001001", true, false),
            ("0000000000000002", false, true),
            ("nonsense", false, false),
        ] {
            let status = status(mask);
            assert_eq!(is_ignored(SignalKind::hangup(), &status), hangup, "{mask}");
            let found = is_ignored(SignalKind::interrupt(), &status);
            assert_eq!(found, interrupt, "{mask}");
        }
        assert!(!is_ignored(SignalKind::hangup(), ""));
    }

    /// With a signal that no other test of this process listens for.
    #[tokio::test]
    async fn a_signal_ends_a_command_unless_it_holds_it() {
        let window_change = signal(SignalKind::window_change()).unwrap();
        let interrupt = Interrupt::of(vec![(Interrupted::Interrupt, window_change)]);
        let send = || kill_process(getpid(), Number::WINCH);
        send().unwrap();
        let waiting = interrupt.or(std::future::pending::<anyhow::Result<()>>());
        let cause = waiting.await.unwrap_err();
        assert!(cause.is::<Interrupted>(), "{cause}");
        let holds = interrupt.or(async {
            let _hold = interrupt.hold();
            send()?;
            anyhow::Ok(interrupt.received().await)
        });
        assert_eq!(holds.await.unwrap(), Interrupted::Interrupt);
        let done = interrupt.or(async { anyhow::Ok(1) });
        assert_eq!(done.await.unwrap(), 1);
    }
}
