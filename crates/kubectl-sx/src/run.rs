//! One run, from its arguments to its exit code. Every error ends here and is printed once.

use clap::Parser;
use kubectl_sx_args::args::Args;

use crate::cmd;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::request::Request;

pub(crate) fn run() -> Exit {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no errors.
            let exit = match error.use_stderr() {
                true => Exit::Usage,
                false => Exit::Ok,
            };
            let _ = error.print();
            return exit;
        }
    };
    let request = Request::from(args);
    let printer = Printer::new(request.format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(cmd::perform(&request, &printer)),
        Err(error) => Err(Error::Runtime(error)),
    };
    done.unwrap_or_else(|error| printer.error(&error))
}
