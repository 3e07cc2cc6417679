//! One run, from its arguments to its exit code. Every error ends here and is printed once.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::Context;
use clap::Parser;
use schedctl_args::args::{Args, Command, Complete, Format, LogLevel};
use schedkit_host::HostRoot;
use schedkit_runtime::containerd::LogToWrite;

use crate::boot_unit::BootUnit;
use crate::cmd;
use crate::completion;
use crate::enabled::{self, EnabledScheduler};
use crate::error_text;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{Printer, log, usage};
use crate::request::{Request, RequestError};
use crate::settings::config_file::ConfigFile;
use crate::settings::environment::{Environment, User, notify_socket};
use crate::settings::restrictions::ForbiddenHere;
use crate::settings::state;
use crate::state_dir::StateDir;

pub(crate) fn run(argv: &[OsString]) -> Exit {
    // Without settings: the output of a scheduler must be read whatever they say.
    if let Some(log) = LogToWrite::requested(argv) {
        return write(&log);
    }
    let args = match Args::try_parse_from(argv) {
        Ok(args) => args,
        Err(error) => {
            if let (Some(unit), true) = (enabled_unit(argv), error.use_stderr()) {
                unit.ended(&usage::message(&error));
            }
            return usage::print(&error, argv);
        }
    };
    let mut printer = Printer::new(args.output());
    if let Command::Complete(asked) = &args.command {
        return complete(asked, &mut printer);
    }
    request(args, &mut printer)
        .and_then(|request| perform(&request, &mut printer))
        .unwrap_or_else(|error| printer.error(&error))
}

/// The unit that an administrator has edited, from arguments that cannot be parsed.
fn enabled_unit(argv: &[OsString]) -> Option<BootUnit> {
    let ours = argv.iter().take_while(|arg| *arg != "--");
    let after = ours.skip_while(|arg| *arg != "--enabled");
    let mut values = after.filter_map(|arg| arg.to_str().filter(|arg| !arg.starts_with('-')));
    Some(unit(values.next()?))
}

fn unit(name: &str) -> BootUnit {
    BootUnit::enabled(name, notify_socket(), StateDir::system())
}

fn write(log: &LogToWrite) -> Exit {
    let written = log
        .write()
        .context("the log of a scheduler cannot be written");
    let printer = Printer::new(Format::Text);
    written.map_or_else(|error| printer.error(&error), |()| Exit::Ok)
}

/// Uses the options of the line that is completed. A shell gets no error.
fn complete(asked: &Complete, printer: &mut Printer) -> Exit {
    let Some(global) = completion::globals(&asked.words) else {
        return Exit::Ok;
    };
    let command = Command::Complete(asked.clone());
    let outcome = request(Args { command, global }, printer);
    let outcome = outcome.and_then(|request| perform(&request, printer));
    outcome.unwrap_or(Exit::Ok)
}

fn request(args: Args, printer: &mut Printer) -> anyhow::Result<Request> {
    let name = args.enabled().map(str::to_owned);
    let outcome = resolve(args, printer);
    if let (Some(name), Err(error)) = (name, &outcome) {
        unit(&name).failed(error);
    }
    outcome
}

fn resolve(args: Args, printer: &mut Printer) -> anyhow::Result<Request> {
    let root = HostRoot::system();
    let enabled = match args.enabled() {
        Some(name) => EnabledScheduler::read(&root, name)?,
        None => None,
    };
    let kept = enabled.as_ref().map(|enabled| &enabled.environment);
    let environment = Environment::of_this_process(kept.unwrap_or(&BTreeMap::new()))?;
    let file = ConfigFile::load(args.config(), environment.config.as_deref())?;
    let user = environment.user;
    let request = Request::new(args, environment, file, enabled);
    if let Err(RequestError::Forbidden {
        asked: Some(asked),
        refusal,
    }) = &request
    {
        record_forbidden(user, asked, *refusal, printer);
    }
    let mut request = request?;
    // Only root can read what is enabled, and only root's verdicts are for the boot.
    let pinned = enabled::pinned_digests(&root).unwrap_or_default();
    let verdicts = request.settings.verdicts.take();
    request.settings.verdicts = verdicts.map(|store| store.sparing(pinned));
    Ok(request)
}

/// It is refused whether or not that can be recorded.
fn record_forbidden(user: User, asked: &str, refusal: ForbiddenHere, printer: &mut Printer) {
    let log = state::audit(user, None);
    let recorded = log.map(|log| log.record_forbidden(asked, refusal.to_string()));
    if let Some(Err(error)) = recorded {
        log::begin(LogLevel::Warn);
        let error = error_text::one_line(error.as_ref());
        printer.warn(format!("this attempt is not recorded: {error}"));
    }
}

fn perform(request: &Request, printer: &mut Printer) -> anyhow::Result<Exit> {
    log::begin(request.settings.log_level.value);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let outcome = runtime.block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for signals")?;
        let command = cmd::perform(request, &interrupt, printer);
        interrupt.or(command).await
    });
    // Do not wait for a name lookup that is still in progress.
    runtime.shutdown_background();
    outcome
}
