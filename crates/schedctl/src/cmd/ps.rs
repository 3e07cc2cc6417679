//! `schedctl ps`: lists schedctl's containers of both runtimes, or of the one that `--driver` names.

use crate::error_text;
use crate::exit::Exit;
use crate::inventory::{Inventory, READ_TIMEOUT, is_not_installed, list, list_both};
use crate::output::{Printer, ps::ContainerList};
use crate::request::PsFormat;
use crate::settings::{Origin, Settings};

pub(super) async fn ps(
    format: PsFormat,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let runtimes = settings.runtimes();
    let Inventory {
        mut containers,
        chosen_error,
        other_error,
        answered,
    } = list_both(&runtimes, READ_TIMEOUT, list).await;
    let is_default = |origin: &Origin| *origin == Origin::Default;
    let any = is_default(&settings.driver.origin) && is_default(&settings.socket.origin);
    match chosen_error {
        // Nobody asked for this runtime, and the other one is what this machine has.
        Some(error) if any && !answered.is_empty() && is_not_installed(&error) => {}
        Some(error) => return Err(error.into()),
        None => {}
    }
    if settings.driver.origin == Origin::Flag {
        containers.retain(|one| one.runtime == runtimes.chosen.runtime);
    } else if let Some(error) = other_error {
        printer.warn(error_text::one_line(&error));
    }
    let list = ContainerList::new(runtimes.chosen.runtime, &containers);
    match format {
        PsFormat::Table => printer.print(&list)?,
        PsFormat::Ids => printer.print(&list.ids())?,
    }
    Ok(Exit::Ok)
}
