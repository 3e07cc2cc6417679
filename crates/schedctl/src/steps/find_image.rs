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
        let asked_as = enabled.catalog_name.as_deref();
        let asked_as = asked_as.or_else(|| catalog_name(&enabled.scheduler, &enabled.reference));
        return Ok(Target {
            scheduler: enabled.scheduler.clone(),
            catalog_name: asked_as.map(str::to_owned),
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

/// The scheduler's name if a catalog must have led from it to this image, for what was kept without
/// the name that was asked for.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;
    use schedctl_args::args::{Args, Format};

    use super::*;
    use crate::enabled::EnabledScheduler;
    use crate::request::{Command, Request};
    use crate::settings::config_file::ConfigFile;
    use crate::settings::environment::Environment;

    /// Of `run --enabled`; no catalog is read.
    async fn catalog_name_of(reference: &str, kept: Option<&str>) -> Option<String> {
        let reference: ImageRef = reference.parse().unwrap();
        let digest = format!("sha256:{}", "a".repeat(64)).parse().unwrap();
        let enabled = EnabledScheduler {
            scheduler: "scx_one".to_owned(),
            catalog_name: kept.map(str::to_owned),
            image: PinnedRef::new(reference.repository().clone(), digest),
            reference,
            args: Vec::new(),
            allow_unsigned: false,
            environment: BTreeMap::new(),
        };
        let line = ["schedctl", "run", "--attach", "--enabled", "scx_one"];
        let args = Args::try_parse_from(line).unwrap();
        let (environment, file) = (Environment::empty(), ConfigFile::default());
        let request = Request::new(args, environment, file, Some(enabled)).unwrap();
        let Command::Start(start) = request.command else {
            panic!("{:?}", request.command);
        };
        let mut printer = Printer::new(Format::Text);
        let target = find_target(&start.image, &request.settings, &mut printer);
        target.await.unwrap().catalog_name
    }

    #[tokio::test]
    async fn what_was_enabled_is_called_what_it_was_asked_for_as() {
        let name = Some("scx_one".to_owned());
        let by_name = catalog_name_of("a.example/scx_one:1", Some("scx_one"));
        assert_eq!(by_name.await, name);
        assert_eq!(catalog_name_of("a.example/scx_one:1", None).await, None);
        // Older programs did not keep it, and only a catalog has two names for one image.
        assert_eq!(catalog_name_of("a.example/one:1", None).await, name);
    }
}
