//! `schedctl doctor`: checks whether this machine can run schedulers.

use schedkit_host::HostRoot;
use schedkit_image::registry::Client;

use crate::exit::Exit;
use crate::output::{Printer, doctor::DoctorReport};
use crate::settings::Settings;
use crate::steps::find_image::find_image;
use crate::steps::preflight;

pub(super) async fn doctor(
    image: Option<&str>,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let needs = match image {
        Some(image) => {
            let found = find_image(image, settings, printer).await?;
            let registry = Client::new(settings.registry.clone());
            Some(preflight::image_needs(found.image(), &registry).await?)
        }
        None => None,
    };
    let findings = preflight::check(root, &settings.runtimes(), needs).await;
    let report = DoctorReport::new(findings);
    printer.print(&report)?;
    Ok(report.exit())
}
