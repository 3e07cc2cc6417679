//! schedctl: sched_ext schedulers from OCI images on this machine.
//!
//! ```text
//! words ─▶ args ─┐                  ┌─▶ runtimes, schedkit-*
//! environment ───┼─▶ request ─▶ cmd/<verb> ─▶ output ─▶ exit
//! config file ───┘
//! ```
//!
//! `args` is a library of its own beside this program: see `lib.rs`.

mod boot;
mod cmd;
mod config;
mod decide;
mod drivers;
mod environment;
mod execute;
mod exit;
mod guard;
mod interrupt;
mod kernel;
mod observe;
mod output;
mod plan;
mod request;
mod run;
mod runtimes;
mod sked;
mod state_dir;
mod status;
mod tail;
mod transition;
mod trial;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    run::run(&words).into()
}
