//! `scx_lab`: the lab's own sched_ext scheduler, with faults that can be chosen.
//!
//! It behaves like the schedulers of the scx project: it prints when it is attached, prints the
//! kernel's reason for the end on an `EXIT:` line, and detaches on SIGTERM.

mod args;
mod exit_info;
mod kfunc;
mod layout;
mod object;
mod ops_name;
mod output;
mod preflight;
mod request;
mod run;
mod signals;
mod victim;
mod watchdog;

use std::{path::Path, process::ExitCode};

use crate::{request::Request, run::Exit};

fn main() -> ExitCode {
    let request = match Request::try_from(args::parse()) {
        Ok(request) => request,
        Err(error) => {
            output::fail(&error);
            return ExitCode::from(2);
        }
    };
    match run::run(&request, Path::new("/")) {
        Ok(Exit::Detached) => ExitCode::SUCCESS,
        Ok(Exit::Ejected) => ExitCode::FAILURE,
        Ok(Exit::Fault) => ExitCode::from(3),
        Err(error) => {
            output::fail(&error);
            ExitCode::FAILURE
        }
    }
}
