//! `schedctl prune`: removes images that schedctl pulled and nothing uses.

use anyhow::bail;
use schedkit_host::HostRoot;
use schedkit_runtime::ImageStore;

use crate::confirmation::ask;
use crate::drivers::open;
use crate::enabled;
use crate::error_text;
use crate::exit::Exit;
use crate::output::{Printer, prune::PruneResult};
use crate::pull_record::PullRecord;
use crate::request::{Consent, PruneMode};
use crate::settings::Settings;
use crate::stored_images::{self, RuntimeImage};

pub(super) async fn prune(
    mode: PruneMode,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    // What is started at boot must be known before anything is removed.
    enabled::pinned_digests(root)?;
    let stored = stored_images::list(settings, root).await?;
    if let Some(error) = stored.warning {
        printer.warn(error_text::one_line(&error));
    }
    let mut images = stored.images;
    images.retain(RuntimeImage::may_be_removed);
    let consent = match mode {
        PruneMode::DryRun => {
            printer.print(&PruneResult::planned(&images))?;
            return Ok(Exit::Ok);
        }
        PruneMode::Remove(consent) => consent,
    };
    let count = match images.len() {
        1 => "1 image".to_owned(),
        count => format!("{count} images"),
    };
    let needs_consent = consent == Consent::Ask && !images.is_empty();
    if needs_consent && !ask(&format!("Remove {count} that nothing uses?")).await? {
        bail!(
            "nothing was done: use --force to remove {count} without confirmation, and --dry-run \
             to see which"
        );
    }
    let runtimes = settings.runtimes();
    let record = PullRecord::new(&settings.cache.value);
    for image in &images {
        let store = open(runtimes.endpoint(image.runtime), &settings.registry);
        store.remove(&image.entry).await?;
        image.digests().for_each(|digest| record.remove(&digest));
    }
    printer.print(&PruneResult::removed(&images))?;
    Ok(Exit::Ok)
}
