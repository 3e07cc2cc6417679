//! What a command line means: a checked request, or one sentence about what is wrong with it.
//!
//! `main` builds it from `args.rs` and hands it to `run.rs`. Pure: neither the kernel nor the
//! environment is asked anything here.

use std::{ffi::OsString, time::Duration};

use thiserror::Error;

use crate::{
    args::{Args, FaultArg},
    ops_name::{InvalidOpsName, OpsName},
    watchdog::{InvalidTimeout, WatchdogTimeout},
};

/// How long slow-attach waits unless told otherwise: longer than any sound attach takes.
const SLOW_ATTACH: Duration = Duration::from_secs(5);

/// One run of the scheduler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) name: OpsName,
    /// `None` leaves the timeout to the kernel.
    pub(crate) timeout: Option<WatchdogTimeout>,
    pub(crate) fault: Option<Fault>,
}

/// What goes wrong, and who makes it go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The BPF program strikes, this long after the attach.
    Strike { how: Strike, after: Duration },
    /// The kernel does not let the scheduler in.
    Rejection(Rejection),
    /// The loader waits this long before it attaches.
    SlowAttach(Duration),
    /// The loader leaves, this long after the attach.
    Exit(Duration),
    /// The loader is deaf to signals.
    IgnoreSignals,
}

/// A fault that the BPF program commits while it schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    Stall,
    ScxError,
    RuntimeError,
    BpfExit,
}

/// A fault that shows before the scheduler has scheduled anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// By the verifier, when the program is loaded.
    Verifier,
    /// By `ops.init`, when the scheduler is attached.
    Init,
}

/// Why a command line makes no sense.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Name(#[from] InvalidOpsName),
    #[error(transparent)]
    Timeout(#[from] InvalidTimeout),
}

impl TryFrom<Args> for Request {
    type Error = RequestError;

    fn try_from(args: Args) -> Result<Self, RequestError> {
        let Args {
            name,
            fault,
            after,
            timeout,
            timeout_variable,
        } = args;
        Ok(Self {
            name: name.parse()?,
            timeout: watchdog_timeout(timeout, timeout_variable)?,
            fault: ordered(fault, after),
        })
    }
}

/// The flag wins over the variable, as the more deliberate of the two.
fn watchdog_timeout(
    flag: Option<Duration>,
    variable: Option<OsString>,
) -> Result<Option<WatchdogTimeout>, InvalidTimeout> {
    match (flag, variable) {
        (Some(flag), _) => WatchdogTimeout::try_from(flag).map(Some),
        (None, Some(milliseconds)) => {
            WatchdogTimeout::parse_milliseconds(&milliseconds.to_string_lossy()).map(Some)
        }
        (None, None) => Ok(None),
    }
}

fn ordered(fault: FaultArg, after: Option<Duration>) -> Option<Fault> {
    let strike = |how| Fault::Strike {
        how,
        after: after.unwrap_or_default(),
    };
    match fault {
        FaultArg::None => None,
        FaultArg::Stall => Some(strike(Strike::Stall)),
        FaultArg::ScxError => Some(strike(Strike::ScxError)),
        FaultArg::RuntimeError => Some(strike(Strike::RuntimeError)),
        FaultArg::BpfExit => Some(strike(Strike::BpfExit)),
        FaultArg::Verifier => Some(Fault::Rejection(Rejection::Verifier)),
        FaultArg::Refuse => Some(Fault::Rejection(Rejection::Init)),
        FaultArg::SlowAttach => Some(Fault::SlowAttach(after.unwrap_or(SLOW_ATTACH))),
        FaultArg::Exit => Some(Fault::Exit(after.unwrap_or_default())),
        FaultArg::IgnoreSigterm => Some(Fault::IgnoreSignals),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn request(words: &[&str], variable: Option<&str>) -> Result<Request, RequestError> {
        let args = Args::try_parse_from(["scx_lab"].iter().chain(words)).unwrap();
        Args {
            timeout_variable: variable.map(OsString::from),
            ..args
        }
        .try_into()
    }

    fn timeout_ms(words: &[&str], variable: Option<&str>) -> Option<u32> {
        request(words, variable)
            .unwrap()
            .timeout
            .map(WatchdogTimeout::milliseconds)
    }

    #[test]
    fn without_words_it_is_a_well_behaved_scheduler_called_lab() {
        let request = request(&[], None).unwrap();
        assert_eq!(request.name.as_str(), "lab");
        assert_eq!((request.timeout, request.fault), (None, None));
    }

    #[test]
    fn the_flag_wins_over_the_variable() {
        assert_eq!(timeout_ms(&[], Some("700")), Some(700));
        assert_eq!(timeout_ms(&["--timeout", "5s"], Some("700")), Some(5000));
        assert_eq!(
            timeout_ms(&["--timeout", "5s"], Some("rubbish")),
            Some(5000)
        );
        assert!(request(&[], Some("rubbish")).is_err());
    }

    #[test]
    fn after_means_what_the_fault_makes_of_it() {
        let fault = |words: &[&str]| request(words, None).unwrap().fault;
        assert_eq!(
            fault(&["--fault", "stall", "--after", "3s"]),
            Some(Fault::Strike {
                how: Strike::Stall,
                after: Duration::from_secs(3)
            })
        );
        assert_eq!(
            fault(&["--fault", "exit"]),
            Some(Fault::Exit(Duration::ZERO))
        );
        assert_eq!(
            fault(&["--fault", "slow-attach"]),
            Some(Fault::SlowAttach(SLOW_ATTACH))
        );
        assert_eq!(
            fault(&["--fault", "slow-attach", "--after", "1s"]),
            Some(Fault::SlowAttach(Duration::from_secs(1)))
        );
    }
}
