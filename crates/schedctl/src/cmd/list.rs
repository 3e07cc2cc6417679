//! `schedctl list`: the catalog's names.

use super::find;
use crate::exit::Exit;
use crate::output::{Printer, list::List};
use crate::request::Settings;

pub(super) async fn list(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loaded = find::load(settings, printer).await?;
    printer.print(&List::of(&loaded))?;
    Ok(Exit::Ok)
}
