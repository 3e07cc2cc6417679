//! `schedctl list`: lists the catalog.

use crate::exit::Exit;
use crate::output::{Printer, list::CatalogList};
use crate::settings::Settings;
use crate::steps::find_image::load_catalog;

pub(super) async fn list(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loaded = load_catalog(settings, printer).await?;
    printer.print(&CatalogList::from(&loaded))?;
    Ok(Exit::Ok)
}
