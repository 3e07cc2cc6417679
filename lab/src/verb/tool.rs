//! `lab tool`: where a program of the installation is, for `make`. Needs no root.

use std::io::Write;
use std::process::ExitCode;

use crate::args::Args;
use lab::parts::install_tool::{self, InstallTool};
use lab::progress::Reporter;

pub(crate) fn run(args: &Args, tool: InstallTool) -> anyhow::Result<ExitCode> {
    let cache = args.cache();
    if install_tool::is_missing(&cache, tool) {
        let name = tool.name();
        writeln!(std::io::stderr(), "building {name}, this once: minutes")?;
    }
    let program = install_tool::make(&cache, tool, &Reporter::new(std::io::sink()))?;
    writeln!(std::io::stdout(), "{}", program.display())?;
    Ok(ExitCode::SUCCESS)
}
