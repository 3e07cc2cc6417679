//! `schedctl trust`: shows the trusted root of policies that name none, and renews it by TUF. What is
//! enabled for the boot is verified again if the new root changes what its policy means: otherwise it
//! would not start without a registry.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use schedkit_core::ImageRef;
use schedkit_host::HostRoot;
use schedkit_image::registry::{Client, FileClient};
use schedkit_image::trust::{
    Anchor, FailedRefresh, KeptRoot, Mirror, Policy, RootSource, RootStore, UpdateLock, refresh,
};

use crate::drivers::open;
use crate::enabled::EnabledScheduler;
use crate::error_text;
use crate::exit::Exit;
use crate::output::trust::{EnabledVerdict, TrustState, TrustStatus, TrustUpdate, UpdateResult};
use crate::output::{Printer, progress};
use crate::request::TrustRequirement;
use crate::settings::{PolicySource, Settings, TrustRootSettings};
use crate::steps::find_image::catalog_name;
use crate::steps::read_policy::{anchor, reader, root_source};
use crate::steps::verify_image::ImageCheck;

pub(super) fn status(settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    let anchor = anchor(&settings.trust_root)?;
    let (roots, warning) = root_source(&settings.trust_root)?;
    if let Some(warning) = warning {
        printer.warn(error_text::one_line(&warning));
    }
    let status = document(&anchor, &roots, &settings.trust_root)?;
    printer.print(&status)?;
    Ok(match status.is_usable() {
        true => Exit::Ok,
        false => Exit::Failure,
    })
}

/// `named` is the mirror of this run.
pub(super) async fn update(
    named: Option<&Mirror>,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let store = settings.trust_root.store.as_ref().context(
        "the trusted root is kept by root: run this command as root, or name a directory of your own in \
         SCHEDCTL_STATE",
    )?;
    let anchor = anchor(&settings.trust_root)?;
    let mirror = match (named, mirror(&settings.trust_root)?) {
        (Some(named), _) => named.clone(),
        (None, Some(mirror)) => mirror,
        (None, None) => anyhow::bail!(
            "no mirror is known for the TUF root of another instance: set `mirror` in section \
             `[trust-root]` of the settings file, or use --mirror"
        ),
    };
    let lock = store.lock()?;
    let (before, warning) = root_source(&settings.trust_root)?;
    if let Some(warning) = warning {
        printer.warn(error_text::one_line(&warning));
    }
    let fetched = fetch(&mirror, &anchor, (store, &lock), settings, printer).await?;
    store.save(&anchor, &fetched, &lock)?;
    drop(lock);
    let after = RootSource::Kept(Arc::new(fetched));
    let result = match (before.root(), after.root()) {
        (Ok(before), Ok(after)) if before.digest() == after.digest() => UpdateResult::Unchanged,
        _ => UpdateResult::Updated,
    };
    let enabled = verify_enabled(&before, &after, root, settings, printer).await;
    let status = document(&anchor, &after, &settings.trust_root)?;
    printer.print(&TrustUpdate::new(result, status, enabled))?;
    Ok(Exit::Ok)
}

/// What the settings name, else that of the public instance; `None` if another one is pinned.
fn mirror(settings: &TrustRootSettings) -> anyhow::Result<Option<Mirror>> {
    Ok(match (&settings.mirror.value, &settings.tuf_root.value) {
        (Some(mirror), _) => Some(mirror.clone()),
        (None, None) => Some(Mirror::public_good()?),
        (None, Some(_)) => None,
    })
}

fn document(
    anchor: &Anchor,
    roots: &RootSource,
    settings: &TrustRootSettings,
) -> anyhow::Result<TrustStatus> {
    let store = settings.store.as_ref();
    Ok(TrustStatus::new(TrustState {
        anchor,
        roots,
        mirror: mirror(settings)?.as_ref(),
        max_age: settings.max_age.value,
        failure: store.and_then(|store| store.failure(anchor)),
        now: Timestamp::now(),
    }))
}

/// A failure is kept for `trust status`.
async fn fetch(
    mirror: &Mirror,
    anchor: &Anchor,
    (store, lock): (&RootStore, &UpdateLock),
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<KeptRoot> {
    // One that cannot be used was told of already.
    let known = store.load(anchor).ok().flatten();
    let client = FileClient::new(settings.registry.clone());
    let now = Timestamp::now();
    let refreshing = refresh(mirror, &client, anchor, known.as_ref(), now);
    let note = format!("asking {mirror}");
    let error = match progress::with_spinner(&note, refreshing).await {
        Ok(fetched) => return Ok(fetched),
        Err(error) => error,
    };
    let failure = FailedRefresh {
        at: now,
        mirror: mirror.to_string(),
        reason: error_text::one_line(error.fault()),
    };
    if let Err(error) = store.save_failure(anchor, &failure, lock) {
        printer.warn(error_text::one_line(&error));
    }
    Err(error.into())
}

/// Only root can read what is enabled.
async fn verify_enabled(
    before: &RootSource,
    after: &RootSource,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> Vec<EnabledVerdict> {
    let all = EnabledScheduler::read_all(root).unwrap_or_else(|error| {
        printer.warn(error_text::one_line(&error));
        Vec::new()
    });
    let mut verdicts = Vec::new();
    for enabled in all.iter().filter(|enabled| !enabled.allow_unsigned) {
        let source = policy_of(enabled, settings);
        let read = |roots| Policy::read_with(source.as_path(), reader(), roots);
        let policy = match (read(before), read(after)) {
            (Ok(before), Ok(after)) if before.fingerprint() == after.fingerprint() => continue,
            (_, after) => after,
        };
        let verified = match policy {
            Ok(policy) => verify(enabled, &policy, source, settings, printer).await,
            Err(error) => Err(error.into()),
        };
        let reason = verified.err();
        let reason = reason.map(|error| error_text::one_line(error.as_ref()));
        if let Some(reason) = &reason {
            printer.warn(format!(
                "{} will not start without a registry, because its verdict does not count under the new \
                 trusted root: {reason}",
                enabled.scheduler
            ));
        }
        verdicts.push(EnabledVerdict {
            scheduler: enabled.scheduler.clone(),
            image: enabled.image.to_string(),
            verified: reason.is_none(),
            reason,
        });
    }
    verdicts
}

fn policy_of(enabled: &EnabledScheduler, settings: &Settings) -> PolicySource {
    let named = enabled.environment.get("SCHEDCTL_TRUST_POLICY");
    let named = named.map(|path| PolicySource::from(PathBuf::from(path)));
    named.unwrap_or_else(|| settings.trust_policy.value.clone())
}

async fn verify(
    enabled: &EnabledScheduler,
    policy: &Policy,
    source: PolicySource,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let image = ImageRef::from(enabled.image.clone());
    let kept = settings.verdicts.as_ref();
    let name = catalog_name(&enabled.scheduler, &enabled.reference);
    let asked = policy.name_to_check(image.repository(), name);
    if kept.is_some_and(|kept| matches!(kept.find_as(&image, policy, asked), Ok(Some(_)))) {
        return Ok(());
    }
    let check = ImageCheck {
        reference: &enabled.reference,
        pin: Some(&enabled.image),
        catalog_name: name,
        trust: &TrustRequirement {
            policy: source,
            waiver: None,
        },
        registry: &Client::new(settings.registry.clone()),
        verdicts: kept,
        driver: &open(&settings.runtimes().chosen, &settings.registry),
        audit: settings.audit.as_ref(),
    };
    check.ask(policy, printer).await.map(drop)
}
