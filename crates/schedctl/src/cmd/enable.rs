//! `schedctl enable` and `schedctl disable`: which scheduler starts at boot. The image is verified
//! and pulled here, so that systemd's `schedctl run --enabled` needs no registry.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use schedkit_core::sanitize::brief;
use schedkit_host::HostRoot;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::Launch;

use crate::boot_failure::BootFailure;
use crate::drivers::open;
use crate::enabled::{self, EnabledScheduler, without_secrets};
use crate::exit::Exit;
use crate::output::{Printer, enable::EnableResult};
use crate::pull_record::PullRecord;
use crate::request::{AfterEnable, DisableMode, EnableRequest};
use crate::settings::Settings;
use crate::state_dir::StateDir;
use crate::steps::find_image::{Target, find_target};
use crate::steps::pull_image::pull_image;
use crate::steps::verify_image::ImageCheck;
use crate::systemd_unit::{self, ADMIN_UNITS, PACKAGED_UNITS, TEMPLATE, WANTS_DIR};
use crate::unit_failure::UnitFailure;

/// Exists only if systemd is the init process; see sd_booted(3).
const SYSTEMD_RUNNING: &str = "/run/systemd/system";

pub(super) async fn enable(
    request: &EnableRequest,
    root: &HostRoot,
    settings: &Settings,
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
    let changed = EnabledScheduler::read(root, name).ok().flatten().as_ref() != Some(&kept);
    kept.save(root, &unit)?;
    if let Some(edited) = install_unit(root)? {
        printer.warn(edited);
    }
    let others = enable_only(&unit, root)?;
    if now {
        start(&unit, &others, changed)?;
    }
    let result = EnableResult::enabled(name, unit, others, launch.image(), now);
    printer.print(&result)?;
    Ok(Exit::Ok)
}

pub(super) fn disable(
    mode: DisableMode,
    root: &HostRoot,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let now = mode == DisableMode::Now;
    if now {
        require_systemd(root)?;
    }
    let disabled = disable_all(root)?;
    if now && !disabled.is_empty() {
        call(
            Command::new("systemctl")
                .args(["stop", "--"])
                .args(&disabled),
            "stop",
        )?;
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
fn enable_only(unit: &str, root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let mut others = enabled(root)?;
    others.retain(|name| name != unit);
    disable_units(&others, root)?;
    systemctl(root, "enable", &[unit.to_owned()])?;
    sync_links(root)?;
    reload(root)?;
    Ok(others)
}

/// Returns the units that were enabled.
fn disable_all(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let all = enabled(root)?;
    disable_units(&all, root)?;
    sync_links(root)?;
    reload(root)?;
    Ok(all)
}

fn disable_units(units: &[String], root: &HostRoot) -> anyhow::Result<()> {
    systemctl(root, "disable", units)?;
    for unit in units {
        enabled::delete(root, unit)?;
    }
    Ok(())
}

/// Starts the unit in place of the others, and waits until systemd counts it as started, which
/// means that the kernel has attached the scheduler.
fn start(unit: &str, others: &[String], changed: bool) -> anyhow::Result<()> {
    let systemctl = |verb: &str, units: &[String]| {
        call(
            Command::new("systemctl").args([verb, "--"]).args(units),
            verb,
        )
    };
    if !others.is_empty() {
        systemctl("stop", others)?;
    }
    let unit_only = [unit.to_owned()];
    // After too many failures systemd would refuse.
    systemctl("reset-failed", &unit_only).unwrap_or_default();
    let verb = if changed { "restart" } else { "start" };
    match systemctl(verb, &unit_only) {
        Ok(()) => Ok(()),
        Err(error) => Err(unit_failure(unit).map_or(error, anyhow::Error::from)),
    }
}

/// What the unit's schedctl said.
fn unit_failure(unit: &str) -> Option<UnitFailure> {
    let output = Command::new("systemctl")
        .args(["show", "--property=ExecMainStatus,StatusText", "--", unit])
        .output();
    let shown = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    UnitFailure::parse(unit, &shown)
}

fn require_systemd(root: &HostRoot) -> anyhow::Result<()> {
    ensure!(
        root.path(SYSTEMD_RUNNING).is_dir(),
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
    write_unit(&path, &systemd_unit::unit(program)).with_context(|| {
        format!("cannot write {ADMIN_UNITS}/{TEMPLATE}: run this command as root")
    })?;
    Ok(None)
}

/// Atomic, also when the power is cut: systemd takes an empty unit for a masked one, and `is_edited`
/// would leave it alone.
fn write_unit(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
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

fn systemctl(root: &HostRoot, verb: &str, units: &[String]) -> anyhow::Result<()> {
    if units.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("systemctl");
    command.arg("--root").arg(root.as_path());
    call(command.args([verb, "--"]).args(units), verb)
}

/// `systemctl --root` only writes files; a running systemd must reload them.
fn reload(root: &HostRoot) -> anyhow::Result<()> {
    if !root.path(SYSTEMD_RUNNING).is_dir() {
        return Ok(());
    }
    let verb = "daemon-reload";
    call(Command::new("systemctl").arg(verb), verb)
}

fn call(systemctl: &mut Command, verb: &str) -> anyhow::Result<()> {
    let output = match systemctl.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("systemctl was not found: without systemd, start `schedctl run` in another way")
        }
        Err(error) => return Err(error).context("cannot run systemctl"),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "systemctl {verb} failed: {}",
        brief(&stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
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
    #[test]
    fn one_unit_is_enabled_at_a_time() {
        let (_folder, root) = machine();
        let units = ["scx_a", "ghcr.io/schedkit/scx-b:1.0"].map(systemd_unit::instance);
        let [first, second] = &units;
        install_unit(&root).unwrap();
        assert!(enable_only(first, &root).unwrap().is_empty());
        assert!(enable_only(first, &root).unwrap().is_empty());
        assert_eq!(enabled(&root).unwrap(), [first.as_str()]);
        let link = fs::read_link(root.path(WANTS_DIR).join(first)).unwrap();
        assert!(link.ends_with(TEMPLATE), "{link:?}");
        assert_eq!(enable_only(second, &root).unwrap(), [first.as_str()]);
        assert_eq!(enabled(&root).unwrap(), [second.as_str()]);
        assert_eq!(disable_all(&root).unwrap(), [second.as_str()]);
        assert!(disable_all(&root).unwrap().is_empty());
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
