//! Arguments of the commands that change what runs on this machine: `run`, `switch`, `confirm`,
//! `stop`, `detach`, `pull`, `logs`, `enable`, `disable`.

use std::path::PathBuf;
use std::time::Duration;

use super::since::Since;

#[derive(Debug, clap::Args)]
pub struct ImageToRun {
    /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
    #[arg(value_name = "NAME|REF")]
    pub image: String,
    /// Version to use instead of the tag in the name or reference.
    #[arg(long, value_name = "TAG")]
    pub version: Option<String>,
    /// Trust policy: whose signatures are accepted [default: builtin:schedkit].
    #[arg(long, value_name = "FILE")]
    pub trust_policy: Option<PathBuf>,
    /// Accept an image without a trusted signature [default: off].
    #[arg(long)]
    pub allow_unsigned: bool,
}

/// Whether a registry is asked before a scheduler starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PullPolicy {
    /// Start only what was verified before and is stored; ask no registry.
    Never,
    /// Ask the registry unless the image was verified before and is stored.
    Missing,
    /// Ask for digest and signature each time; fetch the image unless it is stored.
    Always,
}

#[derive(Debug, clap::Args)]
pub struct Start {
    #[command(flatten)]
    pub image: ImageToRun,
    /// Whether to ask the registry: always, missing (unless it was verified before and is stored)
    /// or never [default: always].
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    pub pull: Option<PullPolicy>,
    /// How long the kernel may take to attach it.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = super::duration::parse)]
    pub timeout: Duration,
    /// Undo the start after this time unless `schedctl confirm` is run before.
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse)]
    pub trial: Option<Duration>,
    /// Print the plan and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Arguments for the scheduler, appended to its command line.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct Run {
    #[command(flatten)]
    pub start: Start,
    /// Stay in the foreground: show its output, stop it on Ctrl-C, exit with its exit code.
    #[arg(short, long, conflicts_with_all = ["trial", "no_wait", "dry_run"])]
    pub attach: bool,
    /// As the systemd unit calls it: with what `schedctl enable` has kept, and with schedctl's exit
    /// codes.
    #[arg(long, hide = true, requires = "attach")]
    pub enabled: bool,
    /// Return once its process runs, without waiting for the kernel.
    #[arg(long, conflicts_with_all = ["trial", "probation"])]
    pub no_wait: bool,
    /// How long it must stay attached before `run` succeeds.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = super::duration::parse)]
    pub probation: Duration,
}

#[derive(Debug, clap::Args)]
pub struct Switch {
    #[command(flatten)]
    pub start: Start,
    /// How long it must stay attached before the old scheduler is removed.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = super::duration::parse)]
    pub probation: Duration,
}

#[derive(Debug, clap::Args)]
pub struct Stop {
    /// A scheduler's name, a container's id, or the first characters of an id [default: the running one].
    #[arg(value_name = "ID|NAME")]
    pub target: Option<String>,
    /// How long it may take to exit after SIGTERM before SIGKILL is sent.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = super::duration::parse)]
    pub grace: Duration,
    /// Print the plan and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct Logs {
    /// A scheduler's name, a container's id, or the first characters of an id [default: the running one].
    #[arg(value_name = "ID|NAME")]
    pub target: Option<String>,
    /// Follow the output until the scheduler exits.
    #[arg(short, long)]
    pub follow: bool,
    /// Print only the last lines, so many of them.
    #[arg(short = 'n', long, value_name = "N")]
    pub tail: Option<usize>,
    /// Print only lines since then: a duration such as 10m, or a time such as 2026-01-31T08:00:00Z.
    #[arg(long, value_name = "DURATION|TIME", value_parser = super::since::parse)]
    pub since: Option<Since>,
    /// Print the time of each line.
    #[arg(short, long)]
    pub timestamps: bool,
}

#[derive(Debug, clap::Args)]
pub struct Detach {
    /// Do not ask for confirmation.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, clap::Args)]
pub struct Enable {
    #[command(flatten)]
    pub image: ImageToRun,
    /// Whether to ask the registry: always, missing (unless it was verified before and is stored)
    /// or never [default: always].
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    pub pull: Option<PullPolicy>,
    /// Also start it now, and wait until the kernel has attached it.
    #[arg(long)]
    pub now: bool,
    /// Arguments for the scheduler, appended to its command line.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct Disable {
    /// Also stop it now.
    #[arg(long)]
    pub now: bool,
}

#[derive(Debug, clap::Args)]
pub struct Guard {
    /// Container that is on trial.
    #[arg(value_name = "ID")]
    pub candidate: String,
}

pub(super) const RUN: &str = "\
Verifies the image's signature, pulls the image by digest, starts it, and returns when the kernel
has attached the scheduler. On failure it prints the reason, the scheduler's last output and what
to do, and removes the container. If the same scheduler already runs, `run` succeeds.

Exit codes:
  0  the kernel runs it
  1  failure: usage, settings, network, runtime, …
  3  the trust policy refuses the image
  4  the kernel did not attach the scheduler, or ejected it
  5  another scheduler is running; see `schedctl switch`
  with --attach: the exit code of the scheduler; 4 if it ends with 0 after an ejection

Examples:
  schedctl run scx_lavd
  schedctl run scx_lavd --version 1.0.21 -- --performance
  schedctl run scx_bpfland --trial 10m
  schedctl run registry.example/scx_mine:1.0 --trust-policy /etc/schedctl/mine.yaml
  schedctl run scx_lavd --dry-run";

pub(super) const SWITCH: &str = "\
Verifies and pulls the new image and creates its container while the old scheduler still runs.
Then stops the old scheduler, and starts the new one once the kernel has detached the old one. If
the kernel does not attach the new scheduler, or ejects it during the probation, the old scheduler
is started again. If no scheduler runs, `switch` does the same as `run`.

Exit codes:
  0  the kernel runs it
  1  failure: usage, settings, network, runtime, …
  3  the trust policy refuses the image
  4  the kernel did not attach the scheduler, or ejected it; the old one runs again
  5  a scheduler is running that schedctl did not start

Examples:
  schedctl switch scx_bpfland
  schedctl switch scx_lavd --probation 30s -- --autopower
  schedctl switch scx_lavd --trial 10m";

pub(super) const CONFIRM: &str = "\
Examples:
  schedctl run scx_lavd --trial 10m && sleep 60 && schedctl confirm";

pub(super) const STOP: &str = "\
Exit codes:
  0  it was stopped, or was not running
  1  failure
  2  its process has exited, but the kernel still has its scheduler attached

Examples:
  schedctl stop
  schedctl stop scx_lavd
  schedctl stop 3f2a9c";

pub(super) const PULL: &str = "\
Exit codes:
  0  the image is in the runtime's store
  1  failure
  3  the trust policy refuses the image

Examples:
  schedctl pull scx_lavd
  schedctl pull scx_lavd --version 1.0.21 -d containerd";

pub(super) const LOGS: &str = "\
Examples:
  schedctl logs
  schedctl logs scx_lavd --follow
  schedctl logs --tail 20 --timestamps
  schedctl logs --since 10m";

pub(super) const DETACH: &str = "\
Detaches whatever scheduler is attached, whoever started it, like SysRq-S. Its process keeps
running and may attach again; use `schedctl stop` for a scheduler that schedctl started.

Examples:
  schedctl detach --force";

pub(super) const ENABLE: &str = "\
Verifies and pulls the image, and pins its digest: at boot that image starts, without a registry.
To take a newer one, run `enable` again. Version, arguments and the settings of this run (driver,
socket, trust policy, proxies, credential file, --allow-unsigned) are kept in /etc/schedctl/enabled.
Needs systemd. One scheduler is enabled at a time: enabling one disables the others. If `enable`
fails, what was enabled before stays enabled.

Exit codes:
  0  it is enabled; with --now also: the kernel runs it
  1  failure
  3  the trust policy refuses the image
  4  with --now: the kernel did not attach it, or ejected it
  5  with --now: another scheduler is running, or this one from another image

Examples:
  schedctl enable scx_lavd --now
  schedctl enable scx_lavd --version 1.0.21 -- --performance
  schedctl disable --now";
