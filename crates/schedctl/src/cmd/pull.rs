//! `schedctl pull`: has an image here, verified, so that `run` need not wait for it.

use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::{Driver, DriverError, Pulled};

use super::find::find;
use super::trust::trust;
use crate::drivers::open;
use crate::exit::Exit;
use crate::output::{Printer, pulled::PulledImage, steps::Bar};
use crate::request::{Settings, Wanted};

pub(super) async fn command(
    wanted: &Wanted,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find(&wanted.word, settings, printer).await?;
    let image = wanted.image(&found)?;
    let registry = Client::new(settings.registry.clone());
    let trusted = trust(&image, &wanted.demand, &registry, printer).await?;
    let driver = open(&settings.runtimes.chosen, &settings.registry);
    let pulled = pull(&driver, &trusted).await?;
    printer.print(&PulledImage::of(&found, &trusted, pulled))?;
    Ok(Exit::Ok)
}

/// Has the image here, and shows how far it is.
pub(super) async fn pull(driver: &impl Driver, image: &Trusted) -> Result<Pulled, DriverError> {
    tracing::info!("pull: {}, unless it is here already", image.image());
    let bar = Bar::new();
    driver
        .pull(image, &mut |progress| bar.show(&progress))
        .await
}
