//! One file per subcommand of the `lab` command. Each takes the parsed arguments and returns an exit code.

mod console;
mod copy;
mod exec;
mod kernels;
mod logs;
mod serial_line;
mod status;
mod tool;
mod up;

use std::process::ExitCode;

use crate::args::{Args, LabCommand};
use lab::{Lab, ProgressBars};

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        LabCommand::Up(up) => up::run(args, up),
        LabCommand::Prepare(spec) => {
            let mut progress_bars = ProgressBars::new();
            Lab::prepare(&args.prepare_spec(spec), |event| progress_bars.show(event))?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Status { output } => status::run(&Lab::find(args.state())?, *output),
        LabCommand::Exec { node, command } => exec::run(&Lab::find(args.state())?, node, command),
        LabCommand::Cp { from, to } => copy::run(&Lab::find(args.state())?, from, to),
        LabCommand::Console { node } => console::run(&Lab::find(args.state())?, node),
        LabCommand::Logs { what } => logs::run(args.state(), what.as_deref()),
        LabCommand::Down => {
            Lab::down(&args.state())?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Kernels => kernels::run(args),
        LabCommand::Tool { tool } => tool::run(args, *tool),
        LabCommand::SerialLine { socket } => serial_line::run(socket),
        LabCommand::Supervisor => {
            lab::supervisor::run()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
