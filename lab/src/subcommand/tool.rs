//! `lab tool`: prints the path of a program that `make` and the tests use. Needs no root.

use std::io::Write;
use std::process::ExitCode;

use crate::args::{Args, Tool};
use lab::parts::{helm, prometheus};
use lab::progress::Reporter;

pub(crate) fn run(args: &Args, tool: Tool) -> anyhow::Result<ExitCode> {
    let cache = args.cache();
    let quiet = Reporter::new(std::io::sink());
    let program = match tool {
        Tool::Helm => {
            if helm::is_missing(&cache) {
                writeln!(std::io::stderr(), "building helm: this takes minutes, once")?;
            }
            helm::make(&cache, &quiet)?
        }
        Tool::Prometheus => prometheus::make(&cache, &quiet)?.server,
    };
    writeln!(std::io::stdout(), "{}", program.display())?;
    Ok(ExitCode::SUCCESS)
}
