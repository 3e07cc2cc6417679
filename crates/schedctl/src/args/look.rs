//! The words of the commands that look at this machine and change nothing: `status`, `ps`,
//! `doctor`, `events`, `wait`, `config`, `completion`.

use std::time::Duration;

use clap::{ArgGroup, ValueEnum};

/// How to tell the state.
#[derive(Debug, clap::Args)]
pub struct Status {
    /// Go on, and tell it again whenever it has changed, until Ctrl-C. With -o json one document
    /// a line.
    #[arg(short, long)]
    pub watch: bool,
}

/// What to examine.
#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Also tell whether this image can run here: its oldest kernel and its architecture.
    #[arg(long, value_name = "NAME|REF")]
    pub image: Option<String>,
}

/// What to wait for.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group = ArgGroup::new("until").required(true).args(["attached", "detached"]))]
pub struct Wait {
    /// Until a scheduler is attached: this one, or any.
    #[arg(long)]
    pub attached: bool,
    /// Until this scheduler is not attached any more, or none is.
    #[arg(long)]
    pub detached: bool,
    /// A name such as scx_lavd, or as the kernel has it, such as lavd_1.0.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// How long, such as 500ms, 30s or 2m; 0s looks once.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = super::duration::parse
    )]
    pub timeout: Duration,
}

/// For which shell.
#[derive(Debug, clap::Args)]
pub struct Completion {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lowercase")]
pub enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// Elvish.
    Elvish,
    /// PowerShell.
    PowerShell,
}

pub(super) const STATUS: &str = "\
The kernel's word counts. What it says is held against the containers that schedctl started, with
either driver:
  idle                   nothing runs
  running                a container of ours runs, and the kernel has its scheduler attached
  orphaned-kernel-state  a scheduler is attached, and no container of ours runs
  managed-detached       a container of ours runs, and the kernel has nothing attached
  managed-mismatch       a container of ours runs, and the kernel has another scheduler attached
  multiple-managed       several containers of ours run; the kernel takes one scheduler

Exit codes:
  0  idle, running
  1  it could not be found out; what the kernel says is printed all the same
  2  one of the others

Examples:
  schedctl status
  schedctl status --watch
  schedctl status -o json | jq -r .kernel.ops
  schedctl status -d containerd";

pub(super) const PS: &str = "\
Examples:
  schedctl ps
  schedctl ps -d containerd
  schedctl ps -o json | jq -r '.containers[].image'";

pub(super) const DOCTOR: &str = "\
Exit codes:
  0  schedulers can run here; what is not as it should be is printed all the same
  1  none can, or it could not be found out

Examples:
  schedctl doctor
  schedctl doctor --image scx_lavd
  schedctl doctor -o json | jq -r '.checks[] | select(.status == \"fail\") | .id'";

pub(super) const EVENTS: &str = "\
What is attached when it begins comes first. Ends with Ctrl-C. With -o json one document a line.

Examples:
  schedctl events
  schedctl events -o json | jq -r 'select(.event == \"detached\") | .ops'";

pub(super) const WAIT: &str = "\
Exit codes:
  0  so it is
  1  not within the time, or it could not be found out

Examples:
  schedctl wait --attached
  schedctl wait --attached scx_lavd --timeout 2m
  schedctl wait --detached && reboot";

pub(super) const CONFIG: &str = "\
A flag counts before the environment, that before the settings file, that before what is usual.
Passwords are never shown.

Examples:
  schedctl config
  schedctl config -d containerd
  schedctl config -o json | jq -r '.settings[] | select(.origin == \"file\") | .name'";

pub(super) const COMPLETION: &str = "\
Examples:
  schedctl completion bash > /etc/bash_completion.d/schedctl
  schedctl completion zsh > /usr/local/share/zsh/site-functions/_schedctl
  schedctl completion fish > ~/.config/fish/completions/schedctl.fish";
