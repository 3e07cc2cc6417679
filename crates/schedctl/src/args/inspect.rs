//! Arguments of the commands that inspect this machine and change nothing: `status`, `ps`,
//! `doctor`, `events`, `wait`, `config`, `completion`.

use std::time::Duration;

use clap::{ArgGroup, ValueEnum};

#[derive(Debug, clap::Args)]
pub struct Status {
    /// Print the status again whenever it changes, until Ctrl-C. With -o json one document per
    /// line.
    #[arg(short, long)]
    pub watch: bool,
}

#[derive(Debug, clap::Args)]
pub struct Ps {
    /// Print only the ids.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Also check whether this image can run here: its minimum kernel and its architecture.
    #[arg(long, value_name = "NAME|REF")]
    pub image: Option<String>,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group = ArgGroup::new("until").required(true).args(["attached", "detached"]))]
pub struct Wait {
    /// Wait until this scheduler is attached; without a name, until any is.
    #[arg(long)]
    pub attached: bool,
    /// Wait until this scheduler is not attached; without a name, until none is.
    #[arg(long)]
    pub detached: bool,
    /// A name such as scx_lavd, or the kernel's name for it, such as lavd_1.0.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Timeout, such as 500ms, 30s or 2m; 0s checks once.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = super::duration::parse
    )]
    pub timeout: Duration,
}

#[derive(Debug, clap::Args)]
pub struct Completion {
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Debug, Clone, clap::Args)]
pub struct Complete {
    /// The words of the command line; the last one is incomplete.
    #[arg(last = true)]
    pub words: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lowercase")]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    PowerShell,
}

pub(super) const STATUS: &str = "\
Compares the kernel's state with the containers that schedctl started, with either driver:
  idle                   no scheduler runs
  running                one container runs, and the kernel has its scheduler attached
  orphaned-kernel-state  a scheduler is attached, but no container runs
  managed-detached       one container runs, but the kernel has no scheduler attached
  managed-mismatch       one container runs, but the kernel has another scheduler attached
  multiple-managed       several containers run; the kernel attaches one scheduler at a time

Exit codes:
  0  idle, running
  1  could not be determined; the kernel's state is printed if it is known
  2  one of the others

Examples:
  schedctl status
  schedctl status --watch
  schedctl status -o json | jq -r .kernel.ops
  schedctl status -d containerd";

pub(super) const PS: &str = "\
Lists the containers of both runtimes, running or not; with --driver those of that runtime only.

Examples:
  schedctl ps
  schedctl ps --quiet
  schedctl ps -d containerd
  schedctl ps -o json | jq -r '.containers[].image'";

pub(super) const DOCTOR: &str = "\
Exit codes:
  0  schedulers can run here; warnings do not change the exit code
  1  no scheduler can run here, or that could not be determined

Examples:
  schedctl doctor
  schedctl doctor --image scx_lavd
  schedctl doctor -o json | jq -r '.checks[] | select(.status == \"fail\") | .id'";

pub(super) const EVENTS: &str = "\
The first line is the scheduler that is attached already, if any. Ends with Ctrl-C. With -o json
one document per line.

Examples:
  schedctl events
  schedctl events -o json | jq -r 'select(.event == \"detached\") | .ops'";

pub(super) const WAIT: &str = "\
Exit codes:
  0  the condition is met
  1  timeout, or the kernel's state could not be read

Examples:
  schedctl wait --attached
  schedctl wait --attached scx_lavd --timeout 2m
  schedctl wait --detached && reboot";

pub(super) const CONFIG: &str = "\
Precedence: flag, environment, settings file, default. Passwords are never shown.

Examples:
  schedctl config
  schedctl config -d containerd
  schedctl config -o json | jq -r '.settings[] | select(.origin == \"file\") | .name'";

pub(super) const COMPLETION: &str = "\
Examples:
  schedctl completion bash > /etc/bash_completion.d/schedctl
  schedctl completion zsh > /usr/local/share/zsh/site-functions/_schedctl
  schedctl completion fish > ~/.config/fish/completions/schedctl.fish";
