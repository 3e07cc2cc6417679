//! The command line. Doc comments are the help text. This only parses: `request.rs` gives the values
//! their meaning.

mod duration;
mod examples;
mod global;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

pub use global::{Format, Global};

use duration::duration;

/// See and steer the sched_ext schedulers of a cluster (SchedExts).
///
/// Everything is read and written with your own rights.
#[derive(Debug, Parser)]
#[command(name = "kubectl-sx", bin_name = "kubectl sx", version, propagate_version = false, after_help = examples::AFTER)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show SchedExts as trees: parts, revisions, and nodes with their state.
    #[command(after_help = examples::STATUS)]
    Status(Status),
    /// Follow and steer the roll-out of a SchedExt.
    #[command(subcommand, after_help = examples::ROLLOUT)]
    Rollout(Rollout),
    /// List the nodes: who owns them, and what their kernels run.
    #[command(after_help = examples::NODES)]
    Nodes,
    /// Explain why a node has this scheduler, or none.
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Show what sked would do if a file were applied. Nothing is written.
    #[command(after_help = examples::PLAN)]
    Plan(Plan),
    /// End the quarantine of a node.
    #[command(after_help = examples::RELEASE)]
    Release(Release),
}

#[derive(Debug, clap::Args)]
pub struct Status {
    /// Name of the SchedExt [default: all of the namespace].
    pub name: Option<String>,
    /// Show it again whenever it changes, until interrupted.
    #[arg(short, long)]
    pub watch: bool,
    /// Show every node, also where many are well.
    #[arg(long)]
    pub all_nodes: bool,
}

#[derive(Debug, Subcommand)]
pub enum Rollout {
    /// Wait until the roll-out is complete; exit code 1 if it fails or is rolled back.
    #[command(after_help = examples::ROLLOUT_STATUS)]
    Status(RolloutStatus),
    /// Stop the roll-out where it is (spec.rollout.paused).
    Pause(Name),
    /// Go on with a paused roll-out.
    Resume(Name),
    /// Let the other nodes follow although the canary has not soaked.
    Promote(Asked),
    /// End the roll-out: the nodes go back to the last good revision.
    Abort(Asked),
    /// Go on although the canary has not soaked or too many nodes are without a scheduler.
    Force(Asked),
    /// Try a rejected revision again.
    Retry(Asked),
    /// Look again at what the image's tags name; what runs is pinned to a digest until then.
    #[command(after_help = examples::REFRESH)]
    Refresh(Asked),
    /// Write the former revision back into the spec.
    #[command(after_help = examples::UNDO)]
    Undo(Undo),
    /// Show the revisions that the status knows: the current one, good ones, the rejected one.
    History(Name),
}

#[derive(Debug, clap::Args)]
pub struct Name {
    /// Name of the SchedExt.
    pub name: String,
}

#[derive(Debug, clap::Args)]
pub struct RolloutStatus {
    /// Name of the SchedExt.
    pub name: String,
    /// Wait until the roll-out has ended; false shows it once.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub watch: bool,
    /// How long to wait, such as 10m; 0 is for ever.
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = duration)]
    pub timeout: Duration,
}

#[derive(Debug, clap::Args)]
pub struct Asked {
    /// Name of the SchedExt.
    pub name: String,
    #[command(flatten)]
    pub answer: Answer,
}

/// Waiting for the manager's answer.
#[derive(Debug, clap::Args)]
pub struct Answer {
    /// Do not wait until the manager has carried it out.
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait for the manager.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub timeout: Duration,
}

#[derive(Debug, clap::Args)]
pub struct Undo {
    /// Name of the SchedExt.
    pub name: String,
    /// A revision of the history [default: the one before].
    #[arg(long, value_name = "REVISION")]
    pub to_revision: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Explain {
    /// Name of the node.
    pub node: String,
}

#[derive(Debug, clap::Args)]
pub struct Plan {
    /// YAML or JSON file with SchedExts; - for standard input.
    #[arg(short, long, value_name = "FILE")]
    pub filename: PathBuf,
    /// Let the API server check the file too, as a dry run: rules of the CRD, admission, your rights.
    #[arg(long)]
    pub server_dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct Release {
    /// Name of the node.
    pub node: String,
    /// The SchedExt whose quarantine ends [default: the one that has the node in quarantine].
    #[arg(long, value_name = "NAME")]
    pub schedext: Option<String>,
    #[command(flatten)]
    pub answer: Answer,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_in_its_help() {
        for command in Args::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            assert!(help.contains("kubectl sx"), "{}", command.get_name());
        }
    }

    #[test]
    fn a_timeout_needs_a_unit() {
        let parse = |text: &str| {
            let line = ["kubectl-sx", "rollout", "status", "a", "--timeout", text];
            Args::try_parse_from(line).map(|args| match args.command {
                Command::Rollout(Rollout::Status(status)) => status.timeout,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(parse("10m").unwrap(), Duration::from_secs(600));
        assert_eq!(parse("0").unwrap(), Duration::ZERO);
        assert!(parse("10").is_err());
        assert!(parse("-1s").is_err());
    }
}
