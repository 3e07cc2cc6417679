//! The command line. Doc comments are the help text. This only parses: `request.rs` gives the
//! values their meaning, `settings.rs` adds the environment and the settings file.
//!
//! The commands are listed here; their arguments and examples are in the file of their group.

mod change;
mod duration;
mod global;
mod images;
mod inspect;
mod policy;
mod since;
mod trust;

use std::path::Path;

use clap::{Parser, Subcommand};

pub use change::{
    Detach, Disable, Enable, Guard, ImageToRun, Logs, PullPolicy, Run, Start, Stop, Switch,
};
pub use duration::root_age;
pub use global::{Format, Global, LogLevel};
pub use images::{Image, Prune, Repository, Verify};
pub use inspect::{Complete, Completion, Doctor, Ps, Shell, Status, Wait};
pub use policy::{ExplainPolicy, Policy, PolicyCommand, PolicyFile};
pub use since::Since;
pub use trust::{Trust, TrustCommand, UpdateTrust};

/// Run sched_ext schedulers from OCI images on this machine.
#[derive(Debug, Parser)]
#[command(name = "schedctl", version, propagate_version = false, after_help = AFTER)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a scheduler; return when the kernel has attached it.
    #[command(after_help = change::RUN)]
    Run(Run),
    /// Replace the running scheduler by another one; restore the old one if that fails.
    #[command(after_help = change::SWITCH)]
    Switch(Switch),
    /// Keep the scheduler that is on trial.
    #[command(after_help = change::CONFIRM)]
    Confirm,
    /// Stop a scheduler and remove its container.
    #[command(after_help = change::STOP)]
    Stop(Stop),
    /// Show the output of a scheduler.
    #[command(after_help = change::LOGS)]
    Logs(Logs),
    /// Verify and pull an image without starting it.
    #[command(after_help = change::PULL)]
    Pull(ImageToRun),
    /// Make the kernel detach whatever scheduler is attached.
    #[command(after_help = change::DETACH)]
    Detach(Detach),
    /// Start a scheduler at boot.
    #[command(after_help = change::ENABLE)]
    Enable(Enable),
    /// Start no scheduler at boot.
    Disable(Disable),
    /// Watch a trial and end it; started by `run --trial` and `switch --trial`.
    #[command(hide = true)]
    Guard(Guard),
    /// List the schedulers of the catalog.
    #[command(after_help = images::LIST)]
    List,
    /// List the versions of a scheduler, the newest last.
    #[command(after_help = images::VERSIONS)]
    Versions(Repository),
    /// Show the metadata of an image. Nothing of it is verified.
    #[command(after_help = images::INFO)]
    Info(Image),
    /// Check whether the trust policy accepts an image, and show who signed it. Nothing is run.
    #[command(after_help = images::VERIFY)]
    Verify(Verify),
    /// Check a trust policy, or show what it asks of an image.
    #[command(subcommand_required = true, arg_required_else_help = false)]
    Policy(Policy),
    /// Show or renew the trusted root that signatures by identity are verified with.
    #[command(subcommand_required = true, arg_required_else_help = false)]
    Trust(Trust),
    /// List the images of schedulers that the runtimes have.
    #[command(after_help = images::IMAGES)]
    Images,
    /// Remove images that schedctl pulled and nothing uses.
    #[command(after_help = images::PRUNE)]
    Prune(Prune),
    /// Show which scheduler runs: schedctl's containers compared with the kernel's state.
    #[command(after_help = inspect::STATUS)]
    Status(Status),
    /// List the containers that schedctl started, with either runtime.
    #[command(after_help = inspect::PS)]
    Ps(Ps),
    /// Check whether this machine can run schedulers, and what to change if not.
    #[command(after_help = inspect::DOCTOR)]
    Doctor(Doctor),
    /// Print schedulers being attached and detached, as it happens.
    #[command(after_help = inspect::EVENTS)]
    Events,
    /// Wait until the kernel has a scheduler attached, or has none.
    #[command(after_help = inspect::WAIT)]
    Wait(Wait),
    /// Show every setting and where it comes from.
    #[command(after_help = inspect::CONFIG)]
    Config,
    /// Print a completion script for a shell.
    #[command(after_help = inspect::COMPLETION)]
    Completion(Completion),
    /// Answer a completion script.
    #[command(name = "__complete", hide = true)]
    Complete(Complete),
}

impl Args {
    pub fn output(&self) -> Format {
        self.global.output
    }

    /// The name whose kept settings `run --enabled` uses.
    pub fn enabled(&self) -> Option<&str> {
        match &self.command {
            Command::Run(run) if run.enabled => Some(&run.start.image.image),
            _ => None,
        }
    }

    pub fn config(&self) -> Option<&Path> {
        self.global.config.as_deref()
    }
}

const AFTER: &str = "\
Examples:
  schedctl doctor                                 check this machine
  schedctl run scx_lavd                           start it; returns when the kernel has attached it
  schedctl switch scx_bpfland                     replace it; restores it if that fails
  schedctl stop scx_bpfland                       back to the kernel's default scheduler
  schedctl list                                   names that can be used
  schedctl versions scx_lavd                      available versions
  schedctl info scx_lavd -o json                  metadata of an image, as JSON
  schedctl verify ghcr.io/schedkit/scx_lavd:1.0   who signed it
  schedctl policy explain scx_lavd                what the trust policy asks of an image
  schedctl trust update                           renew the trusted root of the Sigstore instance
  schedctl status                                 what the kernel runs, and who started it

Environment:
  SCHEDCTL_ALLOW_UNSIGNED, SCHEDCTL_CATALOG, SCHEDCTL_CONFIG, SCHEDCTL_DRIVER, SCHEDCTL_LOG_LEVEL,
  SCHEDCTL_MAX_ROOT_AGE, SCHEDCTL_REGISTRY_CONFIG, SCHEDCTL_SOCKET, SCHEDCTL_TRUST_POLICY
  SCHEDCTL_STATE   directory of kept verdicts and of the trusted root
                   [default: /var/lib/schedctl for root]
  SCHEDCTL_CACHE   cache directory [default: /var/cache/schedctl for root,
                   ~/.cache/schedctl for others]
  NO_COLOR         disable colours; output to a pipe never has any

Precedence: flag, environment, settings file, default. `schedctl config` shows the result. A
settings file:
  driver = \"podman\"
  socket = \"/run/podman/podman.sock\"
  log-level = \"warn\"
  catalog = \"https://example.org/schedulers.json\"
  trust-policy = \"/etc/schedctl/trust.yaml\"
  [trust-root]
  max-age = \"30d\"
  [registry.\"ghcr.io\"]
  mirrors = [\"mirror.example:5000\"]
  [registry.\"mirror.example:5000\"]
  ca = \"/etc/schedctl/mirror.pem\"

Exit codes:
  0  success; `verify`: accepted; `status`: containers and kernel state agree
  1  failure: usage, settings, network, …; `doctor`: no scheduler can run here
  2  `status`: containers and kernel state differ
  3  the trust policy refuses the image, or the image is not what was asked for
  4  `run`, `switch`, `enable --now`: the kernel did not attach the scheduler, or ejected it
  5  `run`, `switch`, `enable --now`: another scheduler is running
  129, 130, 143  SIGHUP, SIGINT (Ctrl-C), SIGTERM ended the command; what was begun was undone";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn wait_takes_exactly_one_condition() {
        let parse = |line: &str| Args::try_parse_from(line.split(' '));
        assert!(parse("schedctl wait --attached").is_ok());
        assert!(parse("schedctl wait --attached scx_lab --timeout 5s").is_ok());
        assert!(parse("schedctl wait --detached scx_lab").is_ok());
        assert!(parse("schedctl wait").is_err());
        assert!(parse("schedctl wait --attached --detached").is_err());
        assert!(parse("schedctl wait --attached --timeout soon").is_err());
    }
}
