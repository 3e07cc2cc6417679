//! `sked`: the operator. This file only starts it; [`manager`] is its table of contents.

mod apply;
mod args;
mod claims;
mod client;
mod clock;
mod controller;
mod count;
mod health;
mod leader;
mod leadership;
mod listen;
mod log;
mod manager;
mod metrics;
mod metrics_server;
mod observe;
mod probe;
mod queue;
mod report;
mod retry;
mod stop;
mod stores;
mod wake;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse().manager();
    log::start(args.log_format, &args.log_level);
    match manager::start(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", retry::chain(&error));
            ExitCode::FAILURE
        }
    }
}
