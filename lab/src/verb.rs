//! One file per verb of the `lab` command. Each takes the parsed arguments and returns an exit code.

mod console;
mod copy;
mod exec;
mod kernels;
mod line;
mod logs;
mod status;
mod tool;
mod up;

use std::process::ExitCode;

use crate::args::{Args, Verb};
use lab::{Lab, Screen};

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Up(up) => up::run(args, up),
        Verb::Prepare(spec) => {
            let mut screen = Screen::new();
            Lab::prepare(&args.prepare_spec(spec), |event| screen.show(event))?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Status { output } => status::run(&Lab::find(args.state())?, *output),
        Verb::Exec { node, command } => exec::run(&Lab::find(args.state())?, node, command),
        Verb::Cp { from, to } => copy::run(&Lab::find(args.state())?, from, to),
        Verb::Console { node } => console::run(&Lab::find(args.state())?, node),
        Verb::Logs { what } => logs::run(args.state(), what.as_deref()),
        Verb::Down => {
            Lab::down(&args.state())?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Kernels => kernels::run(args),
        Verb::Tool { tool } => tool::run(args, *tool),
        Verb::Line { socket } => line::run(socket),
        Verb::Supervisor => {
            lab::supervisor::run()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
