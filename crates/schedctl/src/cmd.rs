//! One file per command; each reads from top to bottom. Steps that commands share are in `steps`.

mod complete;
mod confirm;
mod detach;
mod doctor;
mod enable;
mod events;
mod guard;
mod images;
mod info;
mod list;
mod logs;
mod policy;
mod prune;
mod ps;
mod pull;
mod start;
mod status;
mod stop;
mod trust;
mod verify;
mod versions;
mod wait;

use schedkit_host::HostRoot;

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{Document, Printer, completion::CompletionScript, config::SettingsTable};
use crate::request::{Command, Request};

pub(crate) async fn perform(
    request: &Request,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let settings = &request.settings;
    let root = &HostRoot::system();
    match &request.command {
        Command::Start(start) => start::start(start, root, settings, interrupt, printer).await,
        Command::Confirm => confirm::confirm(root, settings, printer).await,
        Command::Stop(stop) => stop::stop(stop, root, settings, printer).await,
        Command::Logs(logs) => logs::logs(logs, root, settings).await,
        Command::Pull(image) => pull::pull(image, settings, printer).await,
        Command::Detach(consent) => detach::detach(*consent, root, printer).await,
        Command::Enable(request) => {
            enable::enable(request, root, settings, interrupt, printer).await
        }
        Command::Disable(mode) => enable::disable(*mode, root, interrupt, printer).await,
        Command::Guard(candidate) => guard::guard(candidate, root, settings).await,
        Command::List => list::list(settings, printer).await,
        Command::Versions(name) => versions::versions(name, settings, printer).await,
        Command::Info(name) => info::info(name, settings, printer).await,
        Command::Verify(name, policy) => verify::verify(name, policy, settings, printer).await,
        Command::Status(mode) => status::status(*mode, root, settings, interrupt, printer).await,
        Command::CheckPolicy(source) => policy::check(source, settings, printer),
        Command::ExplainPolicy(name, source) => {
            policy::explain(name, source, settings, printer).await
        }
        Command::ShowTrust => trust::status(settings, printer),
        Command::UpdateTrust(mirror) => {
            trust::update(mirror.as_ref(), root, settings, printer).await
        }
        Command::Images => images::images(root, settings, printer).await,
        Command::Prune(mode) => prune::prune(*mode, root, settings, printer).await,
        Command::Ps(format) => ps::ps(*format, settings, printer).await,
        Command::Doctor(image) => doctor::doctor(image.as_deref(), root, settings, printer).await,
        Command::Events => events::events(root, interrupt, printer).await,
        Command::Wait(condition) => wait::wait(condition, root, printer).await,
        Command::Config => print(&SettingsTable::from(settings), printer),
        Command::Complete(words) => complete::complete(words, settings, printer).await,
        Command::Completion(shell) => print(&CompletionScript::new(*shell), printer),
    }
}

fn print(document: &impl Document, printer: &Printer) -> anyhow::Result<Exit> {
    printer.print(document)?;
    Ok(Exit::Ok)
}
