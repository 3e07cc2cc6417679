//! schedctl: sched_ext schedulers from OCI images on this machine.
//!
//! ```text
//! words ─▶ args ─┐
//! environment ───┼─▶ request ─▶ cmd/<verb> ─▶ output ─▶ exit
//! config file ───┘
//! ```

mod args;
mod cmd;
mod config;
mod environment;
mod exit;
mod output;
mod request;
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    run::run(&words).into()
}
