//! `schedctl images`: lists the images of schedulers in the stores of the runtimes.

use schedkit_host::HostRoot;

use crate::error_text;
use crate::exit::Exit;
use crate::output::{Printer, images::ImageList};
use crate::settings::Settings;
use crate::stored_images::{self, StoredImages};

pub(super) async fn images(
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let StoredImages { images, warning } = stored_images::list(settings, root).await?;
    if let Some(error) = warning {
        printer.warn(error_text::one_line(&error));
    }
    printer.print(&ImageList::from(images.as_slice()))?;
    Ok(Exit::Ok)
}
