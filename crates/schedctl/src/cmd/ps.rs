//! `schedctl ps`: lists schedctl's containers of the chosen runtime.

use crate::container::RuntimeContainer;
use crate::exit::Exit;
use crate::inventory::list;
use crate::output::{Printer, ps::ContainerList};
use crate::settings::Settings;

pub(super) async fn ps(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    let endpoint = settings.runtimes().chosen;
    let containers = list(&endpoint).await?;
    let containers: Vec<_> = RuntimeContainer::list(endpoint.runtime, containers).collect();
    printer.print(&ContainerList::new(endpoint.runtime, &containers))?;
    Ok(Exit::Ok)
}
