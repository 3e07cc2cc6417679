//! One file a verb. Each takes what was said on the command line and gives an exit code.

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

/// Does what was asked.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Up(up) => up::run(args, up),
        Verb::Prepare(wanted) => {
            let mut screen = Screen::new();
            Lab::prepare(&args.prepare_spec(wanted), |event| screen.show(event))?;
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
            lab::supervisor::keep()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
