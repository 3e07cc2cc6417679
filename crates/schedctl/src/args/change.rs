//! The words of the commands that change what runs on this machine: `run`, `switch`, `confirm`,
//! `stop`, `detach`, `pull`, `logs`, `enable`, `disable`.

use std::path::PathBuf;
use std::time::Duration;

/// An image, whom to trust, and its version.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
    #[arg(value_name = "NAME|REF")]
    pub image: String,
    /// Which version, instead of the one that the name or reference means.
    #[arg(long, value_name = "TAG")]
    pub version: Option<String>,
    /// Whose signatures count [default: those of the schedkit project].
    #[arg(long, value_name = "FILE")]
    pub trust_policy: Option<PathBuf>,
    /// Run it even when nobody whom the policy trusts has signed it.
    #[arg(long)]
    pub allow_unsigned: bool,
}

/// How to start a scheduler.
#[derive(Debug, clap::Args)]
pub struct Start {
    /// What to start.
    #[command(flatten)]
    pub wanted: Wanted,
    /// How long the kernel may take to attach it.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = super::duration::parse)]
    pub timeout: Duration,
    /// Go back by itself after this time unless `schedctl confirm` says that it stays.
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse)]
    pub trial: Option<Duration>,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// What to append to the scheduler's own command line.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// What `run` takes.
#[derive(Debug, clap::Args)]
pub struct Run {
    /// How to start it.
    #[command(flatten)]
    pub start: Start,
    /// Stay, show what the scheduler says, end it with Ctrl-C, and end with its exit code.
    #[arg(short, long, conflicts_with_all = ["trial", "no_wait", "dry_run"])]
    pub attach: bool,
    /// Return once its process runs, without waiting for the kernel.
    #[arg(long, conflicts_with_all = ["trial", "probation"])]
    pub no_wait: bool,
    /// How long it must stay attached before it counts as running.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = super::duration::parse)]
    pub probation: Duration,
}

/// What `switch` takes.
#[derive(Debug, clap::Args)]
pub struct Switch {
    /// How to start it.
    #[command(flatten)]
    pub start: Start,
    /// How long it must stay attached before the old one is given up.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = super::duration::parse)]
    pub probation: Duration,
}

/// What `stop` takes.
#[derive(Debug, clap::Args)]
pub struct Stop {
    /// A scheduler's name, or a container's id or the beginning of it.
    #[arg(value_name = "ID|NAME")]
    pub which: String,
    /// How long it may take to end by itself before it is killed.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = super::duration::parse)]
    pub grace: Duration,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// What `logs` takes.
#[derive(Debug, clap::Args)]
pub struct Logs {
    /// A scheduler's name, or a container's id or the beginning of it [default: the one that runs].
    #[arg(value_name = "ID|NAME")]
    pub which: Option<String>,
    /// Go on until it ends.
    #[arg(short, long)]
    pub follow: bool,
}

/// What `detach` takes.
#[derive(Debug, clap::Args)]
pub struct Detach {
    /// Do not ask.
    #[arg(long)]
    pub force: bool,
}

/// What `enable` takes.
#[derive(Debug, clap::Args)]
pub struct Enable {
    /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
    #[arg(value_name = "NAME|REF")]
    pub image: String,
}

/// What the one who stands by takes.
#[derive(Debug, clap::Args)]
pub struct Guard {
    /// The container that is tried.
    #[arg(value_name = "ID")]
    pub candidate: String,
}

pub(super) const RUN: &str = "\
The image's signature is verified, its bytes are pulled by digest, and schedctl returns when the
kernel has attached the scheduler. When it does not: the reason, the scheduler's last words and
what to do; nothing is left behind. When the same scheduler runs already, that is a success.

Exit codes:
  0  the kernel runs it
  1  not done: usage, settings, network, runtime, …
  3  refused: the trust policy does not accept the image
  4  the kernel did not attach it, or let go of it again
  5  another scheduler is there; see `schedctl switch`
  with --attach: the scheduler's own

Examples:
  schedctl run scx_lavd
  schedctl run scx_lavd --version 1.0.21 -- --performance
  schedctl run scx_bpfland --trial 10m
  schedctl run registry.example/scx_mine:1.0 --trust-policy ./policy.yaml
  schedctl run scx_lavd --dry-run";

pub(super) const SWITCH: &str = "\
The new image is verified and pulled and its container made while the old scheduler still runs.
Then the old one ends, and the new one starts as soon as the kernel has let go. When the kernel
does not take the new one, or lets go of it during the probation, the old one comes back.
When nothing runs, it is the same as `schedctl run`.

Exit codes:
  0  the kernel runs it
  1  not done: usage, settings, network, runtime, …
  3  refused: the trust policy does not accept the image
  4  the kernel did not attach it, or let go of it again; what ran before runs again
  5  a scheduler is there that schedctl did not start

Examples:
  schedctl switch scx_bpfland
  schedctl switch scx_lavd --probation 30s -- --autopower
  schedctl switch scx_lavd --trial 10m";

pub(super) const CONFIRM: &str = "\
Examples:
  schedctl run scx_lavd --trial 10m && sleep 60 && schedctl confirm";

pub(super) const STOP: &str = "\
Exit codes:
  0  it has ended, or was not there
  1  not done
  2  its process has ended, and the kernel still holds its scheduler

Examples:
  schedctl stop scx_lavd
  schedctl stop 3f2a9c";

pub(super) const PULL: &str = "\
Exit codes:
  0  it is here
  1  not done
  3  refused: the trust policy does not accept the image

Examples:
  schedctl pull scx_lavd
  schedctl pull scx_lavd --version 1.0.21 -d containerd";

pub(super) const LOGS: &str = "\
Examples:
  schedctl logs
  schedctl logs scx_lavd --follow";

pub(super) const DETACH: &str = "\
Makes the kernel let go of whatever scheduler is attached, whoever started it, the way SysRq-S
does. A process that is still there may attach again; `schedctl stop` ends one of ours properly.

Examples:
  schedctl detach --force";

pub(super) const ENABLE: &str = "\
Needs systemd. Only one scheduler starts with the machine: another one is disabled.

Examples:
  schedctl enable scx_lavd
  schedctl disable";
