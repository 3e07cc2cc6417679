//! `schedctl versions`: lists the tags of a repository.

use schedkit_image::registry::Client;
use schedkit_image::versions;

use crate::exit::Exit;
use crate::output::{Printer, progress, versions::VersionList};
use crate::settings::Settings;
use crate::steps::find_image::find_image;

pub(super) async fn versions(
    name: &str,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find_image(name, settings, printer).await?;
    let registry = Client::new(settings.registry.clone());
    let repository = found.image().repository();
    let listing = versions::versions(&registry, repository);
    let note = format!("asking {} for versions", repository.host());
    let tags = progress::with_spinner(&note, listing).await?;
    printer.print(&VersionList::new(&found, &tags))?;
    Ok(Exit::Ok)
}
