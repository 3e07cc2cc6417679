//! `schedctl enable` and `schedctl disable`: which scheduler starts at boot. systemd then calls
//! `schedctl run`; nothing is started or stopped here.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use schedkit_host::HostRoot;

use crate::exit::Exit;
use crate::output::{Printer, enable::EnableResult};
use crate::settings::Settings;
use crate::steps::find_image::find_image;
use crate::systemd_unit::{self, ADMIN_UNITS, PACKAGED_UNITS, TEMPLATE, WANTS_DIR};

/// Exists only if systemd is the init process; see sd_booted(3).
const SYSTEMD_RUNNING: &str = "/run/systemd/system";

pub(super) async fn enable(
    image: &str,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    // An unknown name would fail at every boot.
    find_image(image, settings, printer).await?;
    let unit = systemd_unit::instance(image);
    let others = enable_only(&unit, root)?;
    printer.print(&EnableResult::enabled(image, unit, others))?;
    Ok(Exit::Ok)
}

pub(super) fn disable(root: &HostRoot, printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.print(&EnableResult::disabled(disable_all(root)?))?;
    Ok(Exit::Ok)
}

/// Returns the units that were enabled before.
fn enable_only(unit: &str, root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let mut others = enabled(root)?;
    others.retain(|name| name != unit);
    install_unit(root)?;
    systemctl(root, "disable", &others)?;
    systemctl(root, "enable", &[unit.to_owned()])?;
    reload(root)?;
    Ok(others)
}

/// Returns the units that were enabled.
fn disable_all(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let all = enabled(root)?;
    systemctl(root, "disable", &all)?;
    reload(root)?;
    Ok(all)
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

/// A package's unit is kept. Ours is written each time, because the program may have moved.
fn install_unit(root: &HostRoot) -> anyhow::Result<()> {
    let packaged = |folder: &&str| root.path(folder).join(TEMPLATE).exists();
    if PACKAGED_UNITS.iter().any(packaged) {
        return Ok(());
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
    let path = root.path(ADMIN_UNITS).join(TEMPLATE);
    fs::write(&path, systemd_unit::unit(program))
        .with_context(|| format!("cannot write {ADMIN_UNITS}/{TEMPLATE}: run this command as root"))
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
        schedkit_core::sanitize::brief(&stderr)
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
