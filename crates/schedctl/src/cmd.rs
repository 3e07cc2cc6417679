//! One file a command. Each reads from top to bottom: find, ask, print.

mod confirm;
mod detach;
mod doctor;
mod enable;
mod events;
mod find;
mod follow;
mod guard;
mod info;
mod list;
mod logs;
mod ps;
mod pull;
mod repair;
mod start;
mod status;
mod stop;
mod trust;
mod verify;
mod versions;
mod wait;
mod which;

use schedkit_host::HostRoot;

pub(crate) use trust::Distrust;

use crate::exit::Exit;
use crate::output::{Document, Printer, completion::Script, settings};
use crate::request::{Request, Verb};

/// Performs a request.
pub(crate) async fn perform(request: &Request, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = &request.settings;
    let root = &HostRoot::system();
    match &request.verb {
        Verb::Start(start) => start::start(start, root, settings, printer).await,
        Verb::Confirm => confirm::confirm(root, settings, printer).await,
        Verb::Stop(stop) => stop::stop(stop, root, settings, printer).await,
        Verb::Logs(logs) => logs::logs(logs, root, settings).await,
        Verb::Pull(wanted) => pull::command(wanted, settings, printer).await,
        Verb::Detach(consent) => detach::detach(*consent, root, printer).await,
        Verb::Enable(word) => enable::enable(word, root, settings, printer).await,
        Verb::Disable => enable::disable(root, printer),
        Verb::Guard(candidate) => guard::stand_by(candidate, root, settings).await,
        Verb::List => list::list(settings, printer).await,
        Verb::Versions(word) => versions::versions(word, settings, printer).await,
        Verb::Info(word) => info::info(word, settings, printer).await,
        Verb::Verify(word, policy) => verify::verify(word, policy, settings, printer).await,
        Verb::Status(telling) => status::status(*telling, root, settings, printer).await,
        Verb::Ps => ps::ps(settings, printer).await,
        Verb::Doctor(image) => doctor::doctor(image.as_deref(), root, settings, printer).await,
        Verb::Events => events::events(root, printer).await,
        Verb::Wait(awaited) => wait::wait(awaited, root, printer).await,
        Verb::Config(choices) => show(&settings::Settings::from(&**choices), printer),
        Verb::Completion(shell) => show(&Script::of(*shell), printer),
    }
}

/// What needs no finding out.
fn show(document: &impl Document, printer: &Printer) -> anyhow::Result<Exit> {
    printer.print(document)?;
    Ok(Exit::Ok)
}
