//! `schedctl enable` and `schedctl disable`: which scheduler starts at boot. The image is verified
//! and pulled here, so that systemd's `schedctl run --enabled` needs no registry.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use schedkit_host::HostRoot;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::Launch;

use crate::atomic_file;
use crate::boot_failure::BootFailure;
use crate::drivers::open;
use crate::enabled::{self, EnabledScheduler, without_secrets};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{Printer, enable::EnableResult};
use crate::pull_record::PullRecord;
use crate::request::{AfterEnable, DisableMode, EnableRequest};
use crate::settings::Settings;
use crate::state_dir::StateDir;
use crate::steps::find_image::{Target, find_target};
use crate::steps::pull_image::pull_image;
use crate::steps::verify_image::ImageCheck;
use crate::systemctl;
use crate::systemd_unit::{self, ADMIN_UNITS, PACKAGED_UNITS, TEMPLATE, WANTS_DIR};
use crate::unit_failure::UnitFailure;

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
    // What is enabled is enabled completely.
    let _hold = interrupt.hold();
    let before = EnabledScheduler::read(root, name).ok().flatten();
    let changed = before.as_ref() != Some(&kept);
    if let Some(edited) = install_unit(root)? {
        printer.warn(edited);
    }
    kept.save(root, &unit)?;
    let others = match enable_only(&unit, root).await {
        Ok(others) => others,
        Err(error) => {
            // It is not enabled.
            match before {
                Some(before) => before.save(root, &unit)?,
                None => enabled::delete(root, &unit)?,
            }
            return Err(error);
        }
    };
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
    let _hold = interrupt.hold();
    let disabled = disable_all(root).await?;
    let left = "nothing is enabled, and systemd has not been told: `systemctl daemon-reload`";
    systemctl::unless_interrupted(interrupt, left.to_owned(), reload(root)).await?;
    if now && !disabled.is_empty() {
        let left = "nothing is enabled, and systemd goes on stopping what was";
        let stopping = systemctl::ask("stop", &disabled);
        systemctl::unless_interrupted(interrupt, left.to_owned(), stopping).await?;
    }
    let _ = BootFailure::delete(&StateDir::system());
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
    let driver = open(&settings.runtimes().chosen, &settings.registry);
    let check = ImageCheck {
        reference: &target.reference,
        pin: None,
        trust: &request.image.trust,
        registry: &Client::new(settings.registry.clone()),
        verdicts: settings.verdicts.as_ref(),
        driver: &driver,
    };
    // The machine is checked when it starts: an image may be enabled before the kernel is there.
    let trusted = check
        .require_trust(request.pull, async |_| Ok(()), printer)
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

/// Returns the units that were enabled before.
async fn enable_only(unit: &str, root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let mut others = enabled(root)?;
    others.retain(|name| name != unit);
    disable_units(&others, root).await?;
    systemctl::change_files(root, "enable", &[unit.to_owned()]).await?;
    sync_links(root)?;
    Ok(others)
}

/// Returns the units that were enabled.
async fn disable_all(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let all = enabled(root)?;
    disable_units(&all, root).await?;
    sync_links(root)?;
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
        Ok(()) => Ok(()),
        Err(error) => Err(unit_failure(unit).await.map_or(error, anyhow::Error::from)),
    }
}

/// What the unit's schedctl said.
async fn unit_failure(unit: &str) -> Option<UnitFailure> {
    let shown = systemctl::show(unit, "ExecMainStatus,StatusText").await?;
    UnitFailure::parse(unit, &shown)
}

fn require_systemd(root: &HostRoot) -> anyhow::Result<()> {
    ensure!(
        systemctl::is_systemd_running(root),
        "systemd does not run here: leave --now out"
    );
    Ok(())
}

fn enabled(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let folder = root.path(WANTS_DIR);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context(format!("cannot read {WANTS_DIR}")),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if systemd_unit::is_instance(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A package's unit is kept, and so is one that somebody edited, with a warning. Ours is written
/// each time, because the program may have moved.
fn install_unit(root: &HostRoot) -> anyhow::Result<Option<String>> {
    let path = root.path(ADMIN_UNITS).join(TEMPLATE);
    match fs::read_to_string(&path) {
        Ok(text) if systemd_unit::is_edited(&text) => {
            return Ok(Some(format!(
                "{ADMIN_UNITS}/{TEMPLATE} was edited and is left as it is: to get the unit of this \
                 schedctl, move it away and run `schedctl enable` again"
            )));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).context(format!("cannot read {ADMIN_UNITS}/{TEMPLATE}"));
        }
        Ok(_) | Err(_) => {}
    }
    let packaged = |folder: &&str| root.path(folder).join(TEMPLATE).exists();
    if PACKAGED_UNITS.iter().any(packaged) {
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

/// Writes the links that systemctl made or removed to the disk.
fn sync_links(root: &HostRoot) -> anyhow::Result<()> {
    for folder in [ADMIN_UNITS, WANTS_DIR] {
        match File::open(root.path(folder)).and_then(|folder| folder.sync_all()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).context(format!("cannot write {folder}"));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
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

    fn machine() -> (tempfile::TempDir, HostRoot) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("etc/systemd/system")).unwrap();
        let root = HostRoot::at(folder.path());
        (folder, root)
    }

    #[test]
    fn only_schedctl_instances_are_listed() {
        let (folder, root) = machine();
        assert!(enabled(&root).unwrap().is_empty());
        let wants = folder.path().join(WANTS_DIR.trim_start_matches('/'));
        fs::create_dir_all(&wants).unwrap();
        for name in [
            "schedctl@scx_b.service",
            "sshd.service",
            "schedctl@a.service",
        ] {
            fs::write(wants.join(name), "").unwrap();
        }
        let instances = ["schedctl@a.service", "schedctl@scx_b.service"];
        assert_eq!(enabled(&root).unwrap(), instances);
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

    /// With the real systemctl (`lab/bootstrap` installs it), on a tree of files.
    #[tokio::test]
    async fn one_unit_is_enabled_at_a_time() {
        let (_folder, root) = machine();
        let units = ["scx_a", "ghcr.io/schedkit/scx-b:1.0"].map(systemd_unit::instance);
        let [first, second] = &units;
        install_unit(&root).unwrap();
        assert!(enable_only(first, &root).await.unwrap().is_empty());
        assert!(enable_only(first, &root).await.unwrap().is_empty());
        assert_eq!(enabled(&root).unwrap(), [first.as_str()]);
        let link = fs::read_link(root.path(WANTS_DIR).join(first)).unwrap();
        assert!(link.ends_with(TEMPLATE), "{link:?}");
        assert_eq!(enable_only(second, &root).await.unwrap(), [first.as_str()]);
        assert_eq!(enabled(&root).unwrap(), [second.as_str()]);
        assert_eq!(disable_all(&root).await.unwrap(), [second.as_str()]);
        assert!(disable_all(&root).await.unwrap().is_empty());
        assert!(enabled(&root).unwrap().is_empty());
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
