//! `schedctl pull`: verifies and pulls an image, so that `run` need not.

use schedkit_image::registry::Client;

use crate::drivers::open;
use crate::exit::Exit;
use crate::output::{Printer, pull::PullResult};
use crate::pull_record::PullRecord;
use crate::request::ImageRequest;
use crate::settings::Settings;
use crate::steps::find_image::find_image;
use crate::steps::pull_image::pull_image;
use crate::steps::read_policy::read_fresh_policy;
use crate::steps::verify_image::ImageCheck;

pub(super) async fn pull(
    request: &ImageRequest,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find_image(&request.name_or_reference, settings, printer).await?;
    let image = request.image(&found)?;
    let registry = Client::new(settings.registry.clone());
    let driver = open(&settings.runtimes().chosen, &settings.registry);
    let check = ImageCheck {
        reference: &image,
        pin: None,
        catalog_name: found.catalog_name(),
        trust: &request.trust,
        registry: &registry,
        verdicts: settings.verdicts.as_ref(),
        driver: &driver,
        audit: settings.audit.as_ref(),
    };
    let policy = read_fresh_policy(&request.trust.policy, &settings.trust_root, printer)?;
    let trusted = check.ask(&policy, printer).await?;
    let record = PullRecord::new(&settings.cache.value);
    let pulled = pull_image(&driver, &trusted, &record).await?;
    printer.print(&PullResult::new(&found, &trusted, pulled))?;
    Ok(Exit::Ok)
}
