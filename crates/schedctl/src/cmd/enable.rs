//! `schedctl enable` and `schedctl disable`: which scheduler starts at boot. The image is verified
//! and pulled here, so that systemd's `schedctl run --enabled` needs no registry.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use schedkit_host::HostRoot;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::Launch;

use crate::atomic_file;
use crate::boot_failure::BootFailure;
use crate::boot_selection::{self, BootSelection};
use crate::drivers::open;
use crate::enabled::{self, EnabledScheduler, without_secrets};
use crate::error_text;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{Printer, enable::EnableResult};
use crate::pull_record::PullRecord;
use crate::request::{AfterEnable, DisableMode, EnableRequest};
use crate::settings::Settings;
use crate::state_dir::StateDir;
use crate::steps::find_image::{Target, find_target};
use crate::steps::pull_image::pull_image;
use crate::steps::read_policy::read_fresh_policy;
use crate::steps::verify_image::ImageCheck;
use crate::systemctl;
use crate::systemd_unit::{self, ADMIN_UNITS, PACKAGED_UNITS, TEMPLATE};
use crate::unit_failure::{self, UnitFailure};

pub(super) async fn enable(
    request: &EnableRequest,
    root: &HostRoot,
    settings: &Settings,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let now = request.after == AfterEnable::Start;
    if now {
        require_systemd(root)?;
    }
    let target = find_target(&request.image, settings, printer).await?;
    let trusted = fetch(request, &target, settings, printer).await?;
    let kept = EnabledScheduler {
        scheduler: target.scheduler.clone(),
        reference: target.reference.clone(),
        catalog_name: target.catalog_name.clone(),
        image: trusted.image().clone(),
        args: request.args.clone(),
        allow_unsigned: matches!(trusted, Trusted::Waived(_)),
        environment: environment(request, settings, printer),
    };
    // Arguments that cannot be used would fail at every boot.
    let launch = Launch::new(
        target.scheduler,
        target.reference,
        trusted,
        request.args.clone(),
    )?;
    let name = &request.image.name_or_reference;
    let unit = systemd_unit::instance(name);
    let state = StateDir::system();
    let lock = state.lock_boot_selection().await?;
    // What is enabled is enabled completely.
    let _hold = interrupt.hold();
    let changed = EnabledScheduler::read(root, name).ok().flatten() != Some(kept.clone());
    let others = select(&unit, &kept, root, printer).await?;
    let _ = BootFailure::delete(&state);
    drop(lock);
    let left =
        format!("{unit} is enabled, and systemd has not been told: `systemctl daemon-reload`");
    systemctl::unless_interrupted(interrupt, left, reload(root)).await?;
    if now {
        let left = format!(
            "{unit} is enabled, and systemd goes on starting it: `systemctl stop '{unit}'` ends that"
        );
        let starting = start(&unit, &others, changed);
        systemctl::unless_interrupted(interrupt, left, starting).await?;
    }
    let result = EnableResult::enabled(name, unit, others, launch.image(), now);
    printer.print(&result)?;
    Ok(Exit::Ok)
}

pub(super) async fn disable(
    mode: DisableMode,
    root: &HostRoot,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let now = mode == DisableMode::Now;
    if now {
        require_systemd(root)?;
    }
    let state = StateDir::system();
    let lock = state.lock_boot_selection().await?;
    let _hold = interrupt.hold();
    let disabled = disable_all(root).await?;
    let _ = BootFailure::delete(&state);
    drop(lock);
    let left = "nothing is enabled, and systemd has not been told: `systemctl daemon-reload`";
    systemctl::unless_interrupted(interrupt, left.to_owned(), reload(root)).await?;
    if now && !disabled.is_empty() {
        let left = "nothing is enabled, and systemd goes on stopping what was";
        let stopping = systemctl::ask("stop", &disabled);
        systemctl::unless_interrupted(interrupt, left.to_owned(), stopping).await?;
    }
    printer.print(&EnableResult::disabled(disabled, now))?;
    Ok(Exit::Ok)
}

/// Verifies the image and pulls it into the store of the runtime that will start it.
async fn fetch(
    request: &EnableRequest,
    target: &Target,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Trusted> {
    let policy = &request.image.trust.policy;
    let policy = read_fresh_policy(policy, &settings.trust_root, printer)?;
    let driver = open(&settings.runtimes().chosen, &settings.registry);
    let check = ImageCheck {
        reference: &target.reference,
        pin: None,
        catalog_name: target.catalog_name.as_deref(),
        trust: &request.image.trust,
        registry: &Client::new(settings.registry.clone()),
        verdicts: settings.verdicts.as_ref(),
        driver: &driver,
        audit: settings.audit.as_ref(),
    };
    // The machine is checked when it starts: an image may be enabled before the kernel is there.
    let trusted = check
        .require_trust_by(&policy, request.pull, async |_| Ok(()), printer)
        .await?;
    let record = PullRecord::new(&settings.cache.value);
    pull_image(&driver, &trusted, &record).await?;
    Ok(trusted)
}

/// What the unit needs of this run's settings.
fn environment(
    request: &EnableRequest,
    settings: &Settings,
    printer: &mut Printer,
) -> std::collections::BTreeMap<String, String> {
    let variables = settings.for_boot(&request.image.trust.policy);
    let (kept, left_out) = without_secrets(variables);
    if !left_out.is_empty() {
        printer.warn(format!(
            "{} has a password, which is not kept: set it with `systemctl edit schedctl@` if the \
             boot needs a registry",
            left_out.join(" and ")
        ));
    }
    kept
}

/// Enables a unit in place of all others, or leaves enabled what was. Returns the others.
async fn select(
    unit: &str,
    kept: &EnabledScheduler,
    root: &HostRoot,
    printer: &mut Printer,
) -> anyhow::Result<Vec<String>> {
    let before = BootSelection::read(root)?;
    if let Some(edited) = install_unit(root)? {
        printer.warn(edited);
    }
    let selecting = async {
        kept.save(root, unit)?;
        enable_only(unit, &before, root).await
    };
    let selected = selecting.await;
    if selected.is_err()
        && let Err(error) = before.restore(root)
    {
        printer.warn(error_text::one_line(&error));
    }
    selected
}

/// Returns the units that were enabled before.
async fn enable_only(
    unit: &str,
    before: &BootSelection,
    root: &HostRoot,
) -> anyhow::Result<Vec<String>> {
    let mut others = before.units();
    others.retain(|name| name != unit);
    let unit_only = [unit.to_owned()];
    // `enable` would keep a link to a unit file that is gone.
    if before.has_dangling_link(unit, root) {
        systemctl::change_files(root, "disable", &unit_only).await?;
    }
    systemctl::change_files(root, "enable", &unit_only).await?;
    disable_units(&others, root).await?;
    boot_selection::sync(root)?;
    Ok(others)
}

/// Returns the units that were enabled.
async fn disable_all(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let all = BootSelection::read(root)?.units();
    disable_units(&all, root).await?;
    boot_selection::sync(root)?;
    Ok(all)
}

async fn disable_units(units: &[String], root: &HostRoot) -> anyhow::Result<()> {
    systemctl::change_files(root, "disable", units).await?;
    for unit in units {
        enabled::delete(root, unit)?;
    }
    Ok(())
}

/// Starts the unit in place of the others, and waits until systemd counts it as started, which
/// means that the kernel has attached the scheduler.
async fn start(unit: &str, others: &[String], changed: bool) -> anyhow::Result<()> {
    if !others.is_empty() {
        systemctl::ask("stop", others).await?;
    }
    let unit_only = [unit.to_owned()];
    // After too many failures systemd would refuse.
    systemctl::ask("reset-failed", &unit_only)
        .await
        .unwrap_or_default();
    let verb = if changed { "restart" } else { "start" };
    match systemctl::ask(verb, &unit_only).await {
        Ok(()) => {
            // It succeeds as well if systemd skips the unit, and the scheduler may have ended since.
            let shown = systemctl::show(unit, unit_failure::PROPERTIES).await;
            unit_failure::require_active(unit, &shown.unwrap_or_default())
        }
        Err(error) => {
            let shown = systemctl::show(unit, unit_failure::PROPERTIES).await;
            let failure = shown.and_then(|shown| UnitFailure::parse(unit, &shown));
            Err(failure.map_or(error, anyhow::Error::from))
        }
    }
}

fn require_systemd(root: &HostRoot) -> anyhow::Result<()> {
    ensure!(
        systemctl::is_systemd_running(root),
        "systemd does not run here: leave --now out"
    );
    Ok(())
}

/// A package's unit is used, and one that somebody edited is kept, with a warning. Ours is written
/// each time, because the program may have moved; where a package has one now, ours is removed, because
/// systemd would prefer it.
fn install_unit(root: &HostRoot) -> anyhow::Result<Option<String>> {
    let path = root.path(ADMIN_UNITS).join(TEMPLATE);
    let installed = match fs::read_to_string(&path) {
        Ok(text) if systemd_unit::is_edited(&text) => {
            return Ok(Some(format!(
                "{ADMIN_UNITS}/{TEMPLATE} was edited and is left as it is: to get the unit of this \
                 schedctl, move it away and run `schedctl enable` again"
            )));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).context(format!("cannot read {ADMIN_UNITS}/{TEMPLATE}"));
        }
        read => read.is_ok(),
    };
    let packaged = |folder: &&str| root.path(folder).join(TEMPLATE).exists();
    if PACKAGED_UNITS.iter().any(packaged) {
        if installed {
            let removed = fs::remove_file(&path);
            removed.with_context(|| format!("cannot remove {ADMIN_UNITS}/{TEMPLATE}"))?;
        }
        return Ok(None);
    }
    let program: PathBuf = std::env::current_exe().context("cannot find this program")?;
    let program = program
        .to_str()
        .context("the path of this program is not UTF-8")?;
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    ensure!(
        program.chars().all(safe),
        "{program:?} cannot be used in a systemd unit: install schedctl as /usr/bin/schedctl"
    );
    // systemd takes an empty unit for a masked one, and `is_edited` would leave it alone.
    let text = systemd_unit::unit(program);
    let written = atomic_file::write(&path, text.as_bytes(), 0o644);
    written.map_err(|error| {
        let remedy = atomic_file::remedy(&error);
        anyhow::Error::from(error).context(format!("cannot write {ADMIN_UNITS}/{TEMPLATE}{remedy}"))
    })?;
    Ok(None)
}

/// A running systemd must read the files that were changed.
async fn reload(root: &HostRoot) -> anyhow::Result<()> {
    match systemctl::is_systemd_running(root) {
        true => systemctl::ask("daemon-reload", &[]).await,
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::systemd_unit::WANTS_DIR;

    fn machine() -> (tempfile::TempDir, HostRoot) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("etc/systemd/system")).unwrap();
        let root = HostRoot::at(folder.path());
        (folder, root)
    }

    fn enabled(root: &HostRoot) -> Vec<String> {
        BootSelection::read(root).unwrap().units()
    }

    async fn enable_instead(unit: &str, root: &HostRoot) -> Vec<String> {
        let before = BootSelection::read(root).unwrap();
        enable_only(unit, &before, root).await.unwrap()
    }

    #[test]
    fn a_unit_of_a_package_is_kept() {
        let (folder, root) = machine();
        let packaged = folder.path().join("usr/lib/systemd/system");
        fs::create_dir_all(&packaged).unwrap();
        fs::write(packaged.join(TEMPLATE), "theirs").unwrap();
        install_unit(&root).unwrap();
        assert!(!root.path(ADMIN_UNITS).join(TEMPLATE).exists());
        fs::remove_file(packaged.join(TEMPLATE)).unwrap();
        install_unit(&root).unwrap();
        assert!(root.path(ADMIN_UNITS).join(TEMPLATE).exists());
    }

    /// Ours was there first, as systemd would still prefer it.
    #[tokio::test]
    async fn a_unit_of_a_package_replaces_ours_but_not_an_edited_one() {
        let (_folder, root) = machine();
        let ours = root.path(ADMIN_UNITS).join(TEMPLATE);
        let packaged = root.path(PACKAGED_UNITS[0]);
        fs::create_dir_all(&packaged).unwrap();
        let unit = systemd_unit::instance("scx_a");
        install_unit(&root).unwrap();
        enable_instead(&unit, &root).await;
        fs::copy(&ours, packaged.join(TEMPLATE)).unwrap();
        assert_eq!(install_unit(&root).unwrap(), None);
        assert!(!ours.exists());
        enable_instead(&unit, &root).await;
        assert_eq!(enabled(&root), [unit.as_str()]);
        let link = fs::read_link(root.path(WANTS_DIR).join(&unit)).unwrap();
        assert!(link.starts_with(PACKAGED_UNITS[0]), "{link:?}");
        fs::write(&ours, "[Service]\nNice=5\n").unwrap();
        assert!(install_unit(&root).unwrap().is_some());
        assert!(ours.exists());
    }

    /// With the real systemctl (`lab/bootstrap` installs it), on a tree of files.
    #[tokio::test]
    async fn one_unit_is_enabled_at_a_time() {
        let (_folder, root) = machine();
        let units = ["scx_a", "ghcr.io/schedkit/scx-b:1.0"].map(systemd_unit::instance);
        let [first, second] = &units;
        install_unit(&root).unwrap();
        assert!(enable_instead(first, &root).await.is_empty());
        assert!(enable_instead(first, &root).await.is_empty());
        assert_eq!(enabled(&root), [first.as_str()]);
        let link = fs::read_link(root.path(WANTS_DIR).join(first)).unwrap();
        assert!(link.ends_with(TEMPLATE), "{link:?}");
        assert_eq!(enable_instead(second, &root).await, [first.as_str()]);
        assert_eq!(enabled(&root), [second.as_str()]);
        assert_eq!(disable_all(&root).await.unwrap(), [second.as_str()]);
        assert!(disable_all(&root).await.unwrap().is_empty());
        assert!(enabled(&root).is_empty());
    }

    #[test]
    fn an_edited_unit_is_left_alone_with_a_warning() {
        let (_folder, root) = machine();
        let path = root.path(ADMIN_UNITS).join(TEMPLATE);
        assert_eq!(install_unit(&root).unwrap(), None);
        assert_eq!(install_unit(&root).unwrap(), None);
        let edited = fs::read_to_string(&path).unwrap() + "Nice=5\n";
        fs::write(&path, &edited).unwrap();
        let warning = install_unit(&root).unwrap().unwrap();
        assert!(warning.contains("was edited"), "{warning}");
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
    }

    #[test]
    fn systemd_accepts_the_unit() {
        let (_folder, root) = machine();
        install_unit(&root).unwrap();
        let instance = systemd_unit::instance("scx_a");
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .arg(root.path(ADMIN_UNITS).join(instance))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !stderr.contains("schedctl@"),
            "{stderr}"
        );
    }
}
