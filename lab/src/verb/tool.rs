//! `lab tool`: prints the path of a program that `make` and the tests use. Needs no root.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::args::{Args, Tool};
use lab::cache::Cache;
use lab::parts::install_tool::{self, InstallTool};
use lab::parts::prometheus;
use lab::progress::Reporter;

pub(crate) fn run(args: &Args, tool: Tool) -> anyhow::Result<ExitCode> {
    let cache = args.cache();
    let program = match tool {
        Tool::Kustomize => built(&cache, InstallTool::Kustomize)?,
        Tool::Helm => built(&cache, InstallTool::Helm)?,
        Tool::Prometheus => prometheus::make(&cache, &Reporter::new(std::io::sink()))?.server,
    };
    writeln!(std::io::stdout(), "{}", program.display())?;
    Ok(ExitCode::SUCCESS)
}

fn built(cache: &Cache, tool: InstallTool) -> anyhow::Result<PathBuf> {
    if install_tool::is_missing(cache, tool) {
        let name = tool.name();
        writeln!(
            std::io::stderr(),
            "building {name}: this takes minutes, once"
        )?;
    }
    let quiet = Reporter::new(std::io::sink());
    Ok(install_tool::make(cache, tool, &quiet)?)
}
