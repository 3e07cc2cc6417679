//! `sked`: the operator. This file only starts it; [`manager`] is its table of contents, and
//! [`agent`] that of what runs on each node.

mod agent;
mod apply;
mod args;
mod claims;
mod client;
mod clock;
mod controller;
mod count;
mod gates;
mod health;
mod images;
mod leader;
mod leadership;
mod listen;
mod log;
mod manager;
mod metrics;
mod metrics_server;
mod observe;
mod probe;
#[cfg(test)]
mod promql;
mod queue;
mod release_nodes;
mod report;
mod retry;
mod stop;
mod stores;
mod wake;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Request;
use crate::log::LogFormat;

fn main() -> ExitCode {
    match args::Args::parse().request() {
        Request::Manage(args) => {
            log::start(args.log.format, &args.log.level);
            exit(manager::start(args))
        }
        Request::Report(args) => {
            log::start(args.log.format, &args.log.level);
            exit(agent::start(args))
        }
        Request::Release(args) => {
            log::start(LogFormat::Json, "info");
            exit(release_nodes::start(args.cluster.kubeconfig.as_deref()))
        }
    }
}

fn exit<E: std::error::Error + 'static>(ended: Result<(), E>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", retry::chain(&error));
            ExitCode::FAILURE
        }
    }
}
