//! `schedctl prune`: removes images that schedctl pulled and nothing uses. One that cannot be removed
//! does not keep the others.

use anyhow::bail;
use schedkit_core::sanitize::brief;
use schedkit_host::HostRoot;
use schedkit_runtime::{DriverError, ImageEntry, ImageStore};

use crate::confirmation::ask;
use crate::drivers::open;
use crate::enabled;
use crate::error_text;
use crate::exit::Exit;
use crate::output::{Layout, Printer, prune::PruneResult};
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
    let (mut removed, mut failures) = (Vec::new(), Vec::new());
    for image in images {
        let unwanted = image.digests().map(|digest| record.unwanted(&digest));
        let Some(_unwanted) = unwanted.collect::<Option<Vec<_>>>() else {
            printer.warn(format!(
                "{} stays: another schedctl is about to use it",
                name(&image)
            ));
            continue;
        };
        let store = open(runtimes.endpoint(image.runtime), &settings.registry);
        match store.remove(&image.entry).await {
            Ok(()) => {
                image.digests().for_each(|digest| record.remove(&digest));
                removed.push(image);
            }
            Err(error) => failures.push((name(&image), error)),
        }
    }
    if failures.is_empty() {
        printer.print(&PruneResult::removed(&removed))?;
        return Ok(Exit::Ok);
    }
    printer.partial(
        &PruneResult::incomplete(&removed),
        text(&failures),
        Layout::Pretty,
    );
    Ok(Exit::Failure)
}

fn name(image: &RuntimeImage) -> String {
    let ImageEntry { names, id, .. } = &image.entry;
    brief(names.first().unwrap_or(id))
}

fn text(failures: &[(String, DriverError)]) -> String {
    let each =
        |(name, error): &(String, DriverError)| format!("{name} ({})", error_text::one_line(error));
    let all = failures.iter().map(each).collect::<Vec<_>>().join("; ");
    match failures.len() {
        1 => format!("1 image was not removed: {all}"),
        count => format!("{count} images were not removed: {all}"),
    }
}
