//! One file a command. Each reads from top to bottom: find, ask, print.

mod find;
mod info;
mod list;
mod verify;
mod versions;

use crate::exit::Exit;
use crate::output::Printer;
use crate::request::{Request, Verb};

/// Performs a request.
pub(crate) async fn perform(request: &Request, printer: &mut Printer) -> anyhow::Result<Exit> {
    let settings = &request.settings;
    match &request.verb {
        Verb::List => list::list(settings, printer).await,
        Verb::Versions(word) => versions::versions(word, settings, printer).await,
        Verb::Info(word) => info::info(word, settings, printer).await,
        Verb::Verify(word, policy) => verify::verify(word, policy, settings, printer).await,
    }
}
