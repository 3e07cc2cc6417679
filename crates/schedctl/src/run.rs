//! One run from its words to its exit code. Every failure of every step ends here, and is said
//! once.

use std::ffi::OsString;

use anyhow::Context;
use clap::Parser;
use schedctl_args::args::Args;

use crate::cmd;
use crate::config::Config;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::output::{Printer, log, usage};
use crate::request::Request;

/// Does what the words say.
pub(crate) fn run(words: &[OsString]) -> Exit {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(stop) => return usage::print(&stop, words),
    };
    let mut printer = Printer::new(args.output());
    request(args)
        .and_then(|request| perform(&request, &mut printer))
        .unwrap_or_else(|error| printer.error(&error))
}

fn request(args: Args) -> anyhow::Result<Request> {
    let environment = Environment::of_this_process()?;
    let config = Config::load(args.config(), environment.config.as_deref())?;
    Ok(Request::try_from((args, environment, config))?)
}

fn perform(request: &Request, printer: &mut Printer) -> anyhow::Result<Exit> {
    log::begin(request.settings.log_level);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    let outcome = runtime.block_on(cmd::perform(request, printer));
    // A name that is still being looked up must not hold up the end.
    runtime.shutdown_background();
    outcome
}
