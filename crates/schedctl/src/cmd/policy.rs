//! `schedctl policy`: checks a trust policy, and explains what it asks of an image. Neither asks a
//! registry.

use crate::exit::Exit;
use crate::output::Printer;
use crate::output::policy::{PolicyCheck, PolicyExplanation};
use crate::settings::{PolicySource, Settings};
use crate::steps::find_image::find_image;
use crate::steps::read_policy::read_policy;

pub(super) fn check(
    source: &PolicySource,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let policy = read_policy(source, &settings.trust_root, printer)?;
    for advice in policy.advice() {
        printer.warn(advice);
    }
    printer.print(&PolicyCheck::new(source, &policy))?;
    Ok(Exit::Ok)
}

pub(super) async fn explain(
    name: &str,
    source: &PolicySource,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let policy = read_policy(source, &settings.trust_root, printer)?;
    let found = find_image(name, settings, printer).await?;
    let explanation = PolicyExplanation::new(&found, source, &policy);
    printer.print(&explanation)?;
    Ok(match explanation.is_refused() {
        true => Exit::Refused,
        false => Exit::Ok,
    })
}
