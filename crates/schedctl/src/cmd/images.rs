//! `schedctl images`: lists the images of schedulers in the stores of the runtimes.

use schedkit_host::HostRoot;

use crate::exit::Exit;
use crate::output::{Printer, images::ImageList};
use crate::settings::Settings;
use crate::stored_images;

pub(super) async fn images(
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let images = stored_images::list(settings, root, printer).await?;
    printer.print(&ImageList::from(images.as_slice()))?;
    Ok(Exit::Ok)
}
