//! `schedctl info`: what an image says about itself.

use schedkit_image::info;
use schedkit_image::registry::{Client, Platform};

use super::find::find;
use crate::exit::Exit;
use crate::output::{Printer, info::Description, waiting};
use crate::request::Settings;

pub(super) async fn info(
    word: &str,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find(word, settings, printer).await?;
    let registry = Client::new(settings.registry.clone());
    let machine = Platform::this_machine();
    let asking = info::info(&registry, found.image(), &machine);
    let note = format!("asking {}", found.image().repository().host());
    let info = waiting::noted(&note, asking).await?;
    printer.print(&Description::of(&found, &info))?;
    Ok(Exit::Ok)
}
