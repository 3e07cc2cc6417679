//! Parses the command line and reads the one environment variable. `request.rs` checks the values.

use std::{env, ffi::OsString, time::Duration};

use clap::{Parser, ValueEnum};

/// The variable that the schedulers of the scx project read, too.
const TIMEOUT_VARIABLE: &str = "SCX_TIMEOUT_MS";

/// The lab's own sched_ext scheduler: one global queue, and faults that can be chosen.
///
/// Runs until SIGTERM or SIGINT, or until the kernel ejects it. The environment variable
/// SCX_TIMEOUT_MS sets the watchdog timeout in milliseconds unless --timeout is given.
///
/// Exit codes: 0 after a detach by a signal or by the BPF program itself; 1 if the scheduler cannot
/// start or the kernel ejects it; 2 for an invalid command line; 3 for --fault exit.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    /// Name that the kernel shows in /sys/kernel/sched_ext/root/ops
    #[arg(long, default_value = "lab")]
    pub(crate) name: String,

    /// The fault to produce
    #[arg(long, value_enum, default_value_t = FaultArg::None)]
    pub(crate) fault: FaultArg,

    /// Time from the attach to the fault [default: 0s; 5s for slow-attach]
    ///
    /// A number with a unit, such as 500ms, 5s or 2m. For slow-attach it is the time to wait
    /// before attaching. After a restart for CPU hotplug it counts again from the new attach.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) after: Option<Duration>,

    /// Watchdog timeout, 1ms to 30s [default: the kernel's own, 30s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,

    /// The value of `SCX_TIMEOUT_MS`, which is not a flag.
    #[arg(skip)]
    pub(crate) timeout_variable: Option<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FaultArg {
    /// No fault
    None,
    /// Never run one victim thread, until the kernel's watchdog ejects the scheduler
    Stall,
    /// Call scx_bpf_error from BPF
    ScxError,
    /// Use a dispatch queue that does not exist, which the kernel detects by itself
    RuntimeError,
    /// Call scx_bpf_exit from BPF
    BpfExit,
    /// Load a program that the kernel's verifier refuses
    Verifier,
    /// Return an error from ops.init
    Refuse,
    /// Wait before attaching
    SlowAttach,
    /// Exit with code 3
    Exit,
    /// Ignore SIGTERM and SIGINT, so that only SIGKILL ends it
    IgnoreSigterm,
}

/// Reads the command line and environment; exits for `--help`, `--version` and invalid arguments.
pub(crate) fn parse() -> Args {
    Args {
        timeout_variable: env::var_os(TIMEOUT_VARIABLE),
        ..Args::parse()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn args(args: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(["scx_lab"].iter().chain(args))
    }

    #[test]
    fn clap_accepts_the_definition() {
        Args::command().debug_assert();
    }

    #[test]
    fn durations_need_a_number_and_a_unit() {
        for (text, expected) in [
            ("0s", Duration::ZERO),
            ("500ms", Duration::from_millis(500)),
            ("5s", Duration::from_secs(5)),
            ("2m", Duration::from_secs(120)),
        ] {
            assert_eq!(
                args(&["--after", text]).unwrap().after,
                Some(expected),
                "{text}"
            );
        }
        for text in ["", "5", "s", "-1s", "5 parsecs", "99999999999999999999s"] {
            assert!(args(&["--timeout", text]).is_err(), "{text}");
        }
    }

    #[test]
    fn every_fault_has_the_name_that_the_lab_uses() {
        for (text, expected) in [
            ("none", FaultArg::None),
            ("stall", FaultArg::Stall),
            ("scx-error", FaultArg::ScxError),
            ("runtime-error", FaultArg::RuntimeError),
            ("bpf-exit", FaultArg::BpfExit),
            ("verifier", FaultArg::Verifier),
            ("refuse", FaultArg::Refuse),
            ("slow-attach", FaultArg::SlowAttach),
            ("exit", FaultArg::Exit),
            ("ignore-sigterm", FaultArg::IgnoreSigterm),
        ] {
            assert_eq!(args(&["--fault", text]).unwrap().fault, expected, "{text}");
        }
        assert!(args(&["--fault", "smoke"]).is_err());
    }
}
