//! The `lab` command: parses the arguments, runs one subcommand, returns its exit code.

mod args;
mod subcommand;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;

fn main() -> ExitCode {
    match subcommand::run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            let message = lab::error_chain(error.as_ref());
            let _ = writeln!(std::io::stderr(), "lab: {message}");
            ExitCode::FAILURE
        }
    }
}
