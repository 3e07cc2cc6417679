//! Runs the scheduler: check, load, attach, watch, detach; and again if the kernel asks for it.
//!
//! ```text
//! check -> load -> (wait) -> attach -> watch -+-> signal, ejection, fault -> Exit
//!            ^                                |
//!            +------- restart after hotplug --+
//! ```
//!
//! `main` calls [`run`] and turns its value into the exit code.

use std::{io, path::Path, thread, time::Instant};

use thiserror::Error;

use crate::{
    exit_info::ExitInfo,
    kfunc::{self, KfuncError},
    object::{Attached, Loaded, ObjectError},
    output::{print, warn},
    preflight::{self, PreflightError},
    request::{BpfFault, Fault, Request},
    signals::{POLL, Signals},
    victim,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// By a signal or by the BPF program.
    Detached,
    /// By the kernel.
    Ejected,
    /// By `--fault exit`.
    Fault,
}

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
    #[error("cannot install signal handlers")]
    Signals(#[source] io::Error),
    #[error("cannot start the victim thread")]
    Victim(#[source] io::Error),
}

/// How one attachment ended.
enum Ended {
    Exit(Exit),
    Restart,
}

/// Schedules until the end. `root` is the root of the file system with `/sys` and `/proc`.
pub(crate) fn run(request: &Request, root: &Path) -> Result<Exit, RunError> {
    preflight::check(root)?;
    kfunc::check(request.fault, root)?;
    let signals = match request.fault {
        Some(Fault::IgnoreSignals) => Signals::ignore(),
        _ => Signals::handle(),
    }
    .map_err(RunError::Signals)?;
    if let Some(Fault::Bpf {
        kind: BpfFault::Stall,
        ..
    }) = request.fault
    {
        victim::start().map_err(RunError::Victim)?;
    }
    loop {
        match run_once(request, root, &signals)? {
            Ended::Exit(exit) => return Ok(exit),
            Ended::Restart => warn("lab: attaching again, as the kernel asked"),
        }
    }
}

/// One attachment from load to end.
fn run_once(request: &Request, root: &Path, signals: &Signals) -> Result<Ended, RunError> {
    let loaded = Loaded::load(request)?;
    if let Some(Fault::SlowAttach(wait)) = request.fault {
        print(format!(
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
    // If the scheduler fails while it attaches, the kernel reports success and calls ops.exit.
    if let Some(info) = attached.exit_info()? {
        return Ok(report(&info));
    }
    print(format!("lab: attached as {:?}", request.name.as_str()));
    watch(attached, request, signals)
}

/// Watches the attached scheduler until a signal, the kernel or a fault ends it.
fn watch(attached: Attached, request: &Request, signals: &Signals) -> Result<Ended, RunError> {
    let since = Instant::now();
    let mut due = match request.fault {
        Some(Fault::Bpf { after, .. } | Fault::Exit(after)) => Some(after),
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
                return Ok(Ended::Exit(Exit::Fault));
            }
            attached.arm()?;
            due = None;
        }
        thread::sleep(POLL);
    }
}

/// Prints the kernel's reason and decides as the scx schedulers do.
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

/// libbpf-rs does not return the error number, so sysfs shows whether another scheduler is attached.
fn refused(error: ObjectError, root: &Path) -> RunError {
    match preflight::attached(root) {
        Some(name) => RunError::Occupied(name),
        None => RunError::Object(error),
    }
}
