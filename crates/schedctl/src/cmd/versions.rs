//! `schedctl versions`: the tags of a repository.

use schedkit_image::registry::Client;
use schedkit_image::versions;

use super::find::find;
use crate::exit::Exit;
use crate::output::{Printer, versions::Versions, waiting};
use crate::request::Settings;

pub(super) async fn versions(
    word: &str,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find(word, settings, printer).await?;
    let registry = Client::new(settings.registry.clone());
    let repository = found.image().repository();
    let asking = versions::versions(&registry, repository);
    let note = format!("asking {} for versions", repository.host());
    let tags = waiting::noted(&note, asking).await?;
    printer.print(&Versions::of(&found, &tags))?;
    Ok(Exit::Ok)
}
