//! What a command line means.

use kubectl_sx_args::args::{Args, Command, Format, Global, Release, Rollout, Status};
use sked::snapshot::Access;
use sked_api::Request as Ask;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) target: Target,
    pub(crate) format: Format,
    pub(crate) action: Action,
}

/// Which cluster, and what of it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) access: Access,
    pub(crate) namespace: Namespace,
    pub(crate) agent_namespace: String,
    pub(crate) watch_namespaces: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Namespace {
    OfContext,
    Named(String),
    All,
}

#[derive(Debug)]
pub(crate) enum Action {
    Status(Status),
    RolloutStatus {
        name: String,
        watch: bool,
        /// None: for ever.
        timeout: Option<Duration>,
    },
    Pause {
        name: String,
        paused: bool,
    },
    Ask {
        name: String,
        ask: Ask,
        wait: Option<Duration>,
    },
    Undo {
        name: String,
        revision: Option<String>,
    },
    History(String),
    Nodes,
    Explain(String),
    Plan {
        file: PathBuf,
        server_dry_run: bool,
    },
    Release {
        node: String,
        schedext: Option<String>,
        wait: Option<Duration>,
    },
}

impl From<Args> for Request {
    fn from(args: Args) -> Self {
        let Args { command, global } = args;
        let Global {
            namespace,
            all_namespaces,
            context,
            kubeconfig,
            output,
            agent_namespace,
            watch_namespaces,
        } = global;
        Self {
            target: Target {
                access: Access {
                    kubeconfig,
                    context,
                },
                namespace: match (namespace, all_namespaces) {
                    (Some(name), _) => Namespace::Named(name),
                    (None, true) => Namespace::All,
                    (None, false) => Namespace::OfContext,
                },
                agent_namespace,
                watch_namespaces,
            },
            format: output,
            action: action(command),
        }
    }
}

fn action(command: Command) -> Action {
    match command {
        Command::Status(status) => Action::Status(status),
        Command::Rollout(rollout) => steer(rollout),
        Command::Nodes => Action::Nodes,
        Command::Explain(explain) => Action::Explain(explain.node),
        Command::Plan(plan) => Action::Plan {
            file: plan.filename,
            server_dry_run: plan.server_dry_run,
        },
        Command::Release(Release {
            node,
            schedext,
            answer,
        }) => Action::Release {
            node,
            schedext,
            wait: (!answer.no_wait).then_some(answer.timeout),
        },
    }
}

fn steer(rollout: Rollout) -> Action {
    let (asked, ask) = match rollout {
        Rollout::Status(status) => {
            return Action::RolloutStatus {
                name: status.name,
                watch: status.watch,
                timeout: Some(status.timeout).filter(|timeout| !timeout.is_zero()),
            };
        }
        Rollout::Pause(name) => return pause(name.name, true),
        Rollout::Resume(name) => return pause(name.name, false),
        Rollout::Undo(undo) => {
            return Action::Undo {
                name: undo.name,
                revision: undo.to_revision,
            };
        }
        Rollout::History(name) => return Action::History(name.name),
        Rollout::Promote(asked) => (asked, Ask::Promote),
        Rollout::Abort(asked) => (asked, Ask::Abort),
        Rollout::Force(asked) => (asked, Ask::Force),
        Rollout::Retry(asked) => (asked, Ask::Retry),
        Rollout::Refresh(asked) => (asked, Ask::Refresh),
    };
    Action::Ask {
        name: asked.name,
        ask,
        wait: (!asked.answer.no_wait).then_some(asked.answer.timeout),
    }
}

fn pause(name: String, paused: bool) -> Action {
    Action::Pause { name, paused }
}
