//! From a name or reference on the command line to an image. A reference needs no catalog, so none
//! is fetched.

use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::catalog::{self, Loaded, Resolution};

use crate::error_text;
use crate::output::{Printer, progress};
use crate::request::ImageRequest;
use crate::settings::Settings;

/// What a command is to start.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) scheduler: String,
    pub(crate) reference: ImageRef,
    /// The name that it was asked for as, if a catalog led to it.
    pub(crate) catalog_name: Option<String>,
    /// What `schedctl enable` pinned it to.
    pub(crate) pin: Option<PinnedRef>,
}

/// What was enabled needs no catalog.
pub(crate) async fn find_target(
    request: &ImageRequest,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Target> {
    if let Some(enabled) = &request.enabled {
        return Ok(Target {
            scheduler: enabled.scheduler.clone(),
            catalog_name: catalog_name(&enabled.scheduler, &enabled.reference).map(str::to_owned),
            reference: enabled.reference.clone(),
            pin: Some(enabled.pin.clone()),
        });
    }
    let found = find_image(&request.name_or_reference, settings, printer).await?;
    Ok(Target {
        scheduler: found.scheduler().to_owned(),
        reference: request.image(&found)?,
        catalog_name: found.catalog_name().map(str::to_owned),
        pin: None,
    })
}

/// The scheduler's name if a catalog must have led from it to this image. Where the image is called the
/// same, its reference says as much as the name.
pub(crate) fn catalog_name<'a>(scheduler: &'a str, image: &ImageRef) -> Option<&'a str> {
    let own_name = image.repository().path().rsplit('/').next();
    Some(scheduler).filter(|name| Some(*name) != own_name)
}

pub(crate) async fn find_image(
    name_or_reference: &str,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Resolution> {
    if let Some(resolution) = Resolution::without_catalog(name_or_reference) {
        return Ok(resolution?);
    }
    let loaded = load_catalog(settings, printer).await?;
    Ok(loaded.catalog.resolve(name_or_reference)?)
}

/// Warns if a cached or built-in catalog is used instead of the published one.
pub(crate) async fn load_catalog(
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Loaded> {
    let loading = catalog::load(&settings.catalog.value, &settings.cache.value);
    let loaded = progress::with_spinner("fetching the catalog", loading).await?;
    if let Some(warning) = &loaded.warning {
        printer.warn(error_text::one_line(warning));
    }
    Ok(loaded)
}
