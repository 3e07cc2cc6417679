//! One run, from its arguments to its exit code. Every error ends here and is printed once.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::Context;
use clap::Parser;
use schedctl_args::args::Args;
use schedkit_host::HostRoot;

use crate::cmd;
use crate::enabled::EnabledScheduler;
use crate::exit::Exit;
use crate::output::{Printer, log, usage};
use crate::request::Request;
use crate::settings::config_file::ConfigFile;
use crate::settings::environment::Environment;

pub(crate) fn run(argv: &[OsString]) -> Exit {
    let args = match Args::try_parse_from(argv) {
        Ok(args) => args,
        Err(error) => return usage::print(&error, argv),
    };
    let mut printer = Printer::new(args.output());
    request(args)
        .and_then(|request| perform(&request, &mut printer))
        .unwrap_or_else(|error| printer.error(&error))
}

fn request(args: Args) -> anyhow::Result<Request> {
    let enabled = match args.enabled() {
        Some(name) => EnabledScheduler::read(&HostRoot::system(), name)?,
        None => None,
    };
    let kept = enabled.as_ref().map(|enabled| &enabled.environment);
    let environment = Environment::of_this_process(kept.unwrap_or(&BTreeMap::new()))?;
    let file = ConfigFile::load(args.config(), environment.config.as_deref())?;
    Ok(Request::new(args, environment, file, enabled)?)
}

fn perform(request: &Request, printer: &mut Printer) -> anyhow::Result<Exit> {
    log::begin(request.settings.log_level.value);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let outcome = runtime.block_on(cmd::perform(request, printer));
    // Do not wait for a name lookup that is still in progress.
    runtime.shutdown_background();
    outcome
}
