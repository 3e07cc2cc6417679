//! `schedctl info`: shows an image's metadata.

use schedkit_image::info;
use schedkit_image::registry::{Client, Platform};

use crate::exit::Exit;
use crate::output::{Printer, info::ImageInfo, progress};
use crate::settings::Settings;
use crate::steps::find_image::find_image;

pub(super) async fn info(
    name: &str,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find_image(name, settings, printer).await?;
    let registry = Client::new(settings.registry.clone());
    let machine = Platform::this_machine();
    let reading = info::info(&registry, found.image(), &machine);
    let note = format!("asking {}", found.image().repository().host());
    let info = progress::with_spinner(&note, reading).await?;
    printer.print(&ImageInfo::new(&found, &info))?;
    Ok(Exit::Ok)
}
