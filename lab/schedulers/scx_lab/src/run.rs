//! The life of the scheduler: check, load, attach, watch, leave; again if the kernel asks for it.
//!
//! ```text
//! check -> load -> (wait) -> attach -> watch -+-> signal, ejection, order -> Exit
//!            ^                                |
//!            +------- restart after hotplug --+
//! ```
//!
//! `main` calls [`run`] and turns its value into the exit code. What is said about an exit is
//! what the kernel said.

use std::{io, path::Path, thread, time::Instant};

use thiserror::Error;

use crate::{
    exit_info::ExitInfo,
    kfunc::{self, KfuncError},
    object::{Attached, Loaded, ObjectError},
    output::{say, warn},
    preflight::{self, PreflightError},
    request::{Fault, Request, Strike},
    signals::{POLL, Signals},
    victim,
};

/// How a run ended that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Somebody asked for it.
    Detached,
    /// The kernel ended it.
    Ejected,
    /// It was ordered to leave by itself.
    Ordered,
}

/// Why a run could not start or not go on.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    #[error(transparent)]
    Kfunc(#[from] KfuncError),
    #[error(
        "another sched_ext scheduler is already running: {0:?} holds the kernel, stop it first"
    )]
    Occupied(String),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error("cannot start the victim thread")]
    Victim(#[source] io::Error),
}

/// How one attachment ended.
enum Ended {
    Exit(Exit),
    Restart,
}

/// Schedules until it is over. `root` is the root of the file system that shows the kernel.
pub(crate) fn run(request: &Request, root: &Path) -> Result<Exit, RunError> {
    preflight::check(root)?;
    kfunc::check(request.fault, root)?;
    let signals = match request.fault {
        Some(Fault::IgnoreSignals) => Signals::ignore(),
        _ => Signals::heed(),
    }
    .map_err(RunError::Signals)?;
    if let Some(Fault::Strike {
        how: Strike::Stall, ..
    }) = request.fault
    {
        victim::start().map_err(RunError::Victim)?;
    }
    loop {
        match attend(request, root, &signals)? {
            Ended::Exit(exit) => return Ok(exit),
            Ended::Restart => warn("lab: attaching again, as the kernel asked"),
        }
    }
}

/// One attachment from load to end.
fn attend(request: &Request, root: &Path, signals: &Signals) -> Result<Ended, RunError> {
    let loaded = Loaded::load(request)?;
    if let Some(Fault::SlowAttach(wait)) = request.fault {
        say(format!(
            "lab: attaching in {}",
            humantime::format_duration(wait)
        ));
        signals.sleep(wait);
        if signals.stop_requested() {
            warn("lab: stopped before the attach");
            return Ok(Ended::Exit(Exit::Detached));
        }
    }
    let attached = loaded.attach().map_err(|error| refused(error, root))?;
    // The kernel reports a scheduler that failed on its way in as attached, and calls ops.exit.
    if let Some(info) = attached.exit_info()? {
        return Ok(report(&info));
    }
    say(format!("lab: attached as {:?}", request.name.as_str()));
    accompany(attached, request, signals)
}

/// Watches over the attached scheduler until a signal, the kernel or the order ends it.
fn accompany(attached: Attached, request: &Request, signals: &Signals) -> Result<Ended, RunError> {
    let since = Instant::now();
    let mut due = match request.fault {
        Some(Fault::Strike { after, .. } | Fault::Exit(after)) => Some(after),
        Some(Fault::Rejection(_) | Fault::SlowAttach(_) | Fault::IgnoreSignals) | None => None,
    };
    loop {
        if let Some(info) = attached.exit_info()? {
            return Ok(report(&info));
        }
        if signals.stop_requested() {
            return Ok(report(&attached.detach()?));
        }
        if due.is_some_and(|after| since.elapsed() >= after) {
            if let Some(Fault::Exit(_)) = request.fault {
                warn("lab: leaving with exit code 3, as ordered");
                return Ok(Ended::Exit(Exit::Ordered));
            }
            attached.arm()?;
            due = None;
        }
        thread::sleep(POLL);
    }
}

/// Passes on what the kernel said, and draws the conclusion that an scx scheduler draws from it.
fn report(info: &ExitInfo) -> Ended {
    warn(format!("EXIT: {info}"));
    if info.asks_for_restart() {
        Ended::Restart
    } else if info.is_benign() {
        Ended::Exit(Exit::Detached)
    } else {
        Ended::Exit(Exit::Ejected)
    }
}

/// Tells a kernel that is taken from one that does not want us. libbpf-rs does not hand out the
/// error number, so the kernel itself is asked who holds it.
fn refused(error: ObjectError, root: &Path) -> RunError {
    match preflight::holder(root) {
        Some(name) => RunError::Occupied(name),
        None => RunError::Object(error),
    }
}
