//! From the word that was typed to an image. A reference needs no catalog, so none is fetched.

use schedkit_image::catalog::{self, Loaded, Resolution};

use crate::output::{Printer, sentence, waiting};
use crate::request::Settings;

/// What the word stands for.
pub(super) async fn find(
    word: &str,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Resolution> {
    if let Some(resolution) = Resolution::without_catalog(word) {
        return Ok(resolution?);
    }
    let loaded = load(settings, printer).await?;
    Ok(loaded.catalog.resolve(word)?)
}

/// The catalog, with a warning when it is not the one it should be.
pub(super) async fn load(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Loaded> {
    let loading = catalog::load(&settings.catalog, &settings.cache);
    let loaded = waiting::noted("fetching the catalog", loading).await?;
    if let Some(warning) = &loaded.warning {
        printer.warn(sentence(warning));
    }
    Ok(loaded)
}
