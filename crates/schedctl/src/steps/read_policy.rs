//! Reads a trust policy with the trusted root that it is to be used with: its own, else the one that
//! `schedctl trust update` has kept, else the one inside the program.

use anyhow::Context;
use jiff::Timestamp;
use schedkit_image::trust::{Anchor, AnchorError, Policy, RootSource, RootWarning};
use schedkit_image::untrusted::Reader;

use crate::error_text;
use crate::output::Printer;
use crate::settings::{PolicySource, TrustRootSettings};

/// For a verdict: the root must not be too old. Prints the policy's warnings.
pub(crate) fn read_fresh_policy(
    source: &PolicySource,
    settings: &TrustRootSettings,
    printer: &mut Printer,
) -> anyhow::Result<Policy> {
    let policy = read_policy(source, settings, printer)?;
    if let Some(max_age) = settings.max_age.value {
        let checked = policy.check_root_age(max_age, Timestamp::now());
        checked.context(
            "no image is verified with this trusted root: `schedctl trust update` renews it",
        )?;
    }
    Ok(policy)
}

/// Whatever the age of its root. Prints the policy's warnings.
pub(crate) fn read_policy(
    source: &PolicySource,
    settings: &TrustRootSettings,
    printer: &mut Printer,
) -> anyhow::Result<Policy> {
    let (roots, warning) = root_source(settings)?;
    let policy = Policy::read_with(source.as_path(), reader(), &roots)?;
    if let (Some(warning), Some(_)) = (warning, policy.root_as_of()) {
        printer.warn(error_text::one_line(&warning));
    }
    for warning in policy.warnings() {
        printer.warn(format!("the trust policy's {warning}"));
    }
    Ok(policy)
}

/// The warning is for those who use the root.
pub(crate) fn root_source(
    settings: &TrustRootSettings,
) -> Result<(RootSource, Option<RootWarning>), AnchorError> {
    let anchor = anchor(settings)?;
    let store = settings.store.as_ref();
    let loaded = store.map_or(Ok(None), |store| store.load(&anchor));
    Ok(RootSource::choose(&anchor, loaded, Timestamp::now()))
}

pub(crate) fn anchor(settings: &TrustRootSettings) -> Result<Anchor, AnchorError> {
    match &settings.tuf_root.value {
        Some(pinned) => Anchor::read(&pinned.path, &pinned.digest, reader()),
        None => Anchor::public_good(),
    }
}

pub(crate) fn reader() -> Reader {
    match rustix::process::geteuid().is_root() {
        true => Reader::Root,
        false => Reader::User,
    }
}
