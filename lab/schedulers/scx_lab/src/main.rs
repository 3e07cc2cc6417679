//! `scx_lab`: the lab's own sched_ext scheduler, to be trusted and to misbehave on order.
//!
//! Reads the command line, runs, and turns the end into an exit code. It behaves towards the
//! outside like the schedulers of the scx project: it says when it is attached, repeats the
//! kernel's reason on an `EXIT:` line, and lets go on SIGTERM.

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
        Ok(Exit::Ordered) => ExitCode::from(3),
        Err(error) => {
            output::fail(&error);
            ExitCode::FAILURE
        }
    }
}
