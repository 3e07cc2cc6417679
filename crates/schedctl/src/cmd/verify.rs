//! `schedctl verify`: checks an image against the trust policy. The policy is read first: if it is
//! invalid, no registry is asked.

use schedkit_image::registry::Client;

use crate::exit::Exit;
use crate::output::{Printer, verify::VerifyReport};
use crate::settings::{PolicySource, Settings};
use crate::steps::find_image::find_image;
use crate::steps::read_policy::read_fresh_policy;
use crate::steps::verify_image;

pub(super) async fn verify(
    name: &str,
    source: &PolicySource,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let policy = read_fresh_policy(source, &settings.trust_root, printer)?;
    let found = find_image(name, settings, printer).await?;
    let registry = Client::new(settings.registry.clone());
    let name = found.catalog_name();
    let (image, result) = verify_image::verify(found.image(), name, &policy, &registry).await?;
    let verdicts = settings.verdicts.as_ref();
    verify_image::forget_refused(verdicts, &image, &policy, &result, printer);
    let report = VerifyReport::new(&found, &image, (source, &policy), result)?;
    printer.print(&report)?;
    Ok(match report.is_accepted() {
        true => Exit::Ok,
        false => Exit::Refused,
    })
}
