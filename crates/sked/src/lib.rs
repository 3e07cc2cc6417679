//! `sked`, the operator, as a library: [`start`] is the program; the module `manager` is that for the
//! cluster, `agent` that for each node. [`snapshot`] reads a cluster once, as the manager reads it,
//! for `kubectl sx`.

mod agent;
mod args;
mod backoff;
mod client;
mod error_chain;
mod listen;
mod log;
mod manager;
mod metrics_server;
mod probe;
#[cfg(test)]
mod promql;
mod release_nodes;
pub mod snapshot;
mod stop;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Request;
use crate::log::LogFormat;

/// Runs sked with the arguments of this process.
pub fn start() -> ExitCode {
    match args::Args::parse().request() {
        Request::Manage(args) => {
            log::start(args.log.format, &args.log.level);
            exit(manager::start(args))
        }
        Request::RunAgent(args) => {
            log::start(args.log.format, &args.log.level);
            exit(agent::start(args))
        }
        Request::ReleaseNodes(args) => {
            log::start(LogFormat::Json, "info");
            exit(release_nodes::start(args.cluster.kubeconfig.as_deref()))
        }
    }
}

fn exit<E: std::error::Error + 'static>(ended: Result<(), E>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", error_chain::chain(&error));
            ExitCode::FAILURE
        }
    }
}
