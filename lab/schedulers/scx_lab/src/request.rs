//! A checked request from the parsed arguments, or the error in them.

use std::{ffi::OsString, time::Duration};

use thiserror::Error;

use crate::{
    args::{Args, FaultArg},
    ops_name::{InvalidOpsName, OpsName},
    watchdog::{InvalidTimeout, WatchdogTimeout},
};

/// The default wait of slow-attach: longer than any attach without a fault takes.
const SLOW_ATTACH: Duration = Duration::from_secs(5);

/// One run of the scheduler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) name: OpsName,
    /// `None` leaves the timeout to the kernel.
    pub(crate) timeout: Option<WatchdogTimeout>,
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The BPF program produces it, this long after the attach.
    Bpf { kind: BpfFault, after: Duration },
    /// The kernel refuses the scheduler.
    Rejection(Rejection),
    /// The loader waits this long before it attaches.
    SlowAttach(Duration),
    /// The loader exits, this long after the attach.
    Exit(Duration),
    /// The loader ignores SIGTERM and SIGINT.
    IgnoreSignals,
}

/// A fault of the BPF program while it schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BpfFault {
    Stall,
    ScxError,
    RuntimeError,
    BpfExit,
}

/// A fault before the scheduler is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// By the verifier, when the program is loaded.
    Verifier,
    /// By `ops.init`, when the scheduler is attached.
    Init,
}

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
            fault: chosen_fault(fault, after),
        })
    }
}

/// The flag has precedence over the variable.
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

fn chosen_fault(fault: FaultArg, after: Option<Duration>) -> Option<Fault> {
    let bpf = |kind| Fault::Bpf {
        kind,
        after: after.unwrap_or_default(),
    };
    match fault {
        FaultArg::None => None,
        FaultArg::Stall => Some(bpf(BpfFault::Stall)),
        FaultArg::ScxError => Some(bpf(BpfFault::ScxError)),
        FaultArg::RuntimeError => Some(bpf(BpfFault::RuntimeError)),
        FaultArg::BpfExit => Some(bpf(BpfFault::BpfExit)),
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

    fn request(args: &[&str], variable: Option<&str>) -> Result<Request, RequestError> {
        let args = Args::try_parse_from(["scx_lab"].iter().chain(args)).unwrap();
        Args {
            timeout_variable: variable.map(OsString::from),
            ..args
        }
        .try_into()
    }

    fn timeout_ms(args: &[&str], variable: Option<&str>) -> Option<u32> {
        request(args, variable)
            .unwrap()
            .timeout
            .map(WatchdogTimeout::milliseconds)
    }

    #[test]
    fn without_arguments_there_is_no_fault_and_the_name_is_lab() {
        let request = request(&[], None).unwrap();
        assert_eq!(request.name.as_str(), "lab");
        assert_eq!((request.timeout, request.fault), (None, None));
    }

    #[test]
    fn the_flag_has_precedence_over_the_variable() {
        assert_eq!(timeout_ms(&[], Some("700")), Some(700));
        assert_eq!(timeout_ms(&["--timeout", "5s"], Some("700")), Some(5000));
        assert_eq!(
            timeout_ms(&["--timeout", "5s"], Some("rubbish")),
            Some(5000)
        );
        assert!(request(&[], Some("rubbish")).is_err());
    }

    #[test]
    fn the_meaning_of_after_depends_on_the_fault() {
        let fault = |args: &[&str]| request(args, None).unwrap().fault;
        assert_eq!(
            fault(&["--fault", "stall", "--after", "3s"]),
            Some(Fault::Bpf {
                kind: BpfFault::Stall,
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
