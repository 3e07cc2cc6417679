//! `lab kernels`: lists the kernels that `--kernel` accepts.

use std::io::Write;
use std::process::ExitCode;

use crate::args::Args;
use lab::debian::Archive;
use lab::parts::kernel;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let cache = args.cache();
    let archive = Archive::of_nodes(&cache)?;
    archive.refresh(&cache)?;
    for release in kernel::by_series(&archive)?
        .iter()
        .flat_map(|series| series.first())
    {
        writeln!(std::io::stdout(), "{release}")?;
    }
    Ok(ExitCode::SUCCESS)
}
