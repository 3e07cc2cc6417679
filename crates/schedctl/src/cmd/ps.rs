//! `schedctl ps`: the containers of ours.

use crate::exit::Exit;
use crate::output::{Printer, ps::Processes};
use crate::request::Settings;
use crate::runtimes::list;
use crate::status::Held;

pub(super) async fn ps(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    let place = &settings.runtimes.chosen;
    let runtime = place.runtime;
    let held = |container| Held { runtime, container };
    let ours: Vec<Held> = list(place).await?.into_iter().map(held).collect();
    printer.print(&Processes::of(runtime, &ours))?;
    Ok(Exit::Ok)
}
