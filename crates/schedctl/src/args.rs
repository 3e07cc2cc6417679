//! What can be said on the command line. The comments are the help. Parses and means nothing yet:
//! that is the work of `request.rs`, and the environment is that of `environment.rs`.
//!
//! Here are the commands, one line each; the words that each takes, and its examples, are in the
//! file of its group.

mod change;
mod duration;
mod global;
mod images;
mod look;

use std::path::Path;

use clap::{Parser, Subcommand};

pub use change::{Detach, Enable, Guard, Logs, Run, Start, Stop, Switch, Wanted};
pub use global::{DriverName, Format, Global, LogLevel};
pub use images::{Image, Repository, Verify};
pub use look::{Completion, Doctor, Shell, Status, Wait};

/// Run sched_ext schedulers from OCI images on this machine.
#[derive(Debug, Parser)]
#[command(name = "schedctl", version, propagate_version = false, after_help = AFTER)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start a scheduler, and return when the kernel runs it.
    #[command(after_help = change::RUN)]
    Run(Run),
    /// Replace the scheduler that runs by another one; go back when that fails.
    #[command(after_help = change::SWITCH)]
    Switch(Switch),
    /// Keep the scheduler that is on trial.
    #[command(after_help = change::CONFIRM)]
    Confirm,
    /// End a scheduler and remove its container.
    #[command(after_help = change::STOP)]
    Stop(Stop),
    /// Show what a scheduler says.
    #[command(after_help = change::LOGS)]
    Logs(Logs),
    /// Have an image on this machine, verified, without starting it.
    #[command(after_help = change::PULL)]
    Pull(Wanted),
    /// Make the kernel let go of whatever scheduler is attached.
    #[command(after_help = change::DETACH)]
    Detach(Detach),
    /// Start a scheduler with the machine from now on.
    #[command(after_help = change::ENABLE)]
    Enable(Enable),
    /// Start no scheduler with the machine any more.
    Disable,
    /// Stand by during a trial; nobody types this.
    #[command(hide = true)]
    Guard(Guard),
    /// List the schedulers of the catalog.
    #[command(after_help = images::LIST)]
    List,
    /// List the versions of a scheduler, the newest last.
    #[command(after_help = images::VERSIONS)]
    Versions(Repository),
    /// Show what an image says about itself. Nothing of it is verified.
    #[command(after_help = images::INFO)]
    Info(Image),
    /// Tell whether the trust policy accepts an image, and who signed it. Nothing is run.
    #[command(after_help = images::VERIFY)]
    Verify(Verify),
    /// Tell which scheduler runs: what we started against what the kernel has attached.
    #[command(after_help = look::STATUS)]
    Status(Status),
    /// List the schedulers that run in containers of ours.
    #[command(after_help = look::PS)]
    Ps,
    /// Tell whether this machine can run schedulers, and what to do when it cannot.
    #[command(after_help = look::DOCTOR)]
    Doctor(Doctor),
    /// Show schedulers being attached and detached, as it happens.
    #[command(after_help = look::EVENTS)]
    Events,
    /// Wait until the kernel has a scheduler attached, or has none.
    #[command(after_help = look::WAIT)]
    Wait(Wait),
    /// Show every setting and where it comes from.
    #[command(after_help = look::CONFIG)]
    Config,
    /// Print a script that lets a shell complete our words.
    #[command(after_help = look::COMPLETION)]
    Completion(Completion),
}

impl Args {
    /// How to print.
    pub fn output(&self) -> Format {
        self.global.output
    }

    /// The settings file that was named.
    pub fn config(&self) -> Option<&Path> {
        self.global.config.as_deref()
    }
}

const AFTER: &str = "\
Examples:
  schedctl doctor                                 can this machine do it?
  schedctl run scx_lavd                           start it; returns when the kernel runs it
  schedctl switch scx_bpfland                     another one instead, and back if it fails
  schedctl stop scx_bpfland                       back to the kernel's own scheduler
  schedctl list                                   names that can be used
  schedctl versions scx_lavd                      which versions there are
  schedctl info scx_lavd -o json                  what it is, for a program
  schedctl verify ghcr.io/schedkit/scx_lavd:1.0   who signed it
  schedctl status                                 what the kernel runs, and whether it is ours

Environment, where a flag does not say otherwise:
  SCHEDCTL_ALLOW_UNSIGNED, SCHEDCTL_CATALOG, SCHEDCTL_CONFIG, SCHEDCTL_DRIVER, SCHEDCTL_LOG_LEVEL,
  SCHEDCTL_REGISTRY_CONFIG, SCHEDCTL_SOCKET, SCHEDCTL_TRUST_POLICY
  SCHEDCTL_CACHE   folder of what is kept between runs [default: /var/cache/schedctl for root,
                   ~/.cache/schedctl for others]
  NO_COLOR         no colour; there is none in a pipe anyway

The settings file comes after the environment; `schedctl config` shows what counts:
  driver = \"podman\"
  socket = \"/run/podman/podman.sock\"
  log-level = \"warn\"
  catalog = \"https://example.org/schedulers.json\"
  trust-policy = \"/etc/schedctl/trust.yaml\"
  [registry.\"ghcr.io\"]
  mirrors = [\"mirror.example:5000\"]
  [registry.\"mirror.example:5000\"]
  ca = \"/etc/schedctl/mirror.pem\"

Exit codes:
  0  done; `verify`: accepted; `status`: our view and the kernel's agree
  1  not done: usage, settings, network, …; `doctor`: no scheduler can run here
  2  `status`: our view and the kernel's differ
  3  the trust policy refuses the image
  4  `run`, `switch`: the kernel did not attach it, or let go of it again
  5  `run`, `switch`: another scheduler is there";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn waiting_is_for_one_thing() {
        let parse = |words: &str| Args::try_parse_from(words.split(' '));
        assert!(parse("schedctl wait --attached").is_ok());
        assert!(parse("schedctl wait --attached scx_lab --timeout 5s").is_ok());
        assert!(parse("schedctl wait --detached scx_lab").is_ok());
        assert!(parse("schedctl wait").is_err());
        assert!(parse("schedctl wait --attached --detached").is_err());
        assert!(parse("schedctl wait --attached --timeout soon").is_err());
    }
}
