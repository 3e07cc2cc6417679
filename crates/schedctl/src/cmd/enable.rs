//! `schedctl enable` and `schedctl disable`: which scheduler starts with the machine. What starts it
//! is `schedctl run`, called by systemd; nothing is started or ended here.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use schedkit_host::HostRoot;

use super::find::find;
use crate::boot::{self, ADMIN_UNITS, PACKAGED_UNITS, TEMPLATE, WANTED};
use crate::exit::Exit;
use crate::output::Printer;
use crate::output::boot::Enabled;
use crate::request::Settings;

/// There only where systemd is the machine's init; see sd_booted(3).
const RUNS: &str = "/run/systemd/system";

pub(super) async fn enable(
    word: &str,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    // A name that is none would fail at every start of the machine, where nobody looks.
    find(word, settings, printer).await?;
    let unit = boot::instance(word);
    let others = only(&unit, root)?;
    printer.print(&Enabled::now(word, unit, others))?;
    Ok(Exit::Ok)
}

pub(super) fn disable(root: &HostRoot, printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.print(&Enabled::none(none(root)?))?;
    Ok(Exit::Ok)
}

/// Enables this one; which others were until now.
fn only(unit: &str, root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let mut others = enabled(root)?;
    others.retain(|name| name != unit);
    put_unit(root)?;
    systemctl(root, "disable", &others)?;
    systemctl(root, "enable", &[unit.to_owned()])?;
    reload(root)?;
    Ok(others)
}

/// Disables all; which ones were enabled.
fn none(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let all = enabled(root)?;
    systemctl(root, "disable", &all)?;
    reload(root)?;
    Ok(all)
}

/// Our instances that start with the machine.
fn enabled(root: &HostRoot) -> anyhow::Result<Vec<String>> {
    let folder = root.path(WANTED);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context(format!("cannot read {WANTED}")),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if boot::is_instance(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A package's unit is left alone; ours is written again, for the program may have moved.
fn put_unit(root: &HostRoot) -> anyhow::Result<()> {
    let packaged = |folder: &&str| root.path(folder).join(TEMPLATE).exists();
    if PACKAGED_UNITS.iter().any(packaged) {
        return Ok(());
    }
    let program: PathBuf = std::env::current_exe().context("cannot find this program")?;
    let program = program
        .to_str()
        .context("this program's path is not text")?;
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    ensure!(
        program.chars().all(safe),
        "{program:?} cannot stand in a systemd unit: install schedctl as /usr/bin/schedctl"
    );
    let path = root.path(ADMIN_UNITS).join(TEMPLATE);
    fs::write(&path, boot::unit(program))
        .with_context(|| format!("cannot write {ADMIN_UNITS}/{TEMPLATE}: only root may"))
}

fn systemctl(root: &HostRoot, verb: &str, units: &[String]) -> anyhow::Result<()> {
    if units.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("systemctl");
    command.arg("--root").arg(root.as_path());
    call(command.args([verb, "--"]).args(units), verb)
}

/// With `--root` only files are written; a systemd that runs has to be told to read them.
fn reload(root: &HostRoot) -> anyhow::Result<()> {
    if !root.path(RUNS).is_dir() {
        return Ok(());
    }
    let verb = "daemon-reload";
    call(Command::new("systemctl").arg(verb), verb)
}

fn call(systemctl: &mut Command, verb: &str) -> anyhow::Result<()> {
    let output = match systemctl.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("systemctl is not there: without systemd, start `schedctl run` another way")
        }
        Err(error) => return Err(error).context("cannot run systemctl"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "systemctl {verb} did not work: {}",
        schedkit_core::sanitize::brief(&said)
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
    fn only_instances_of_ours_count_as_enabled() {
        let (folder, root) = machine();
        assert!(enabled(&root).unwrap().is_empty());
        let wants = folder.path().join(WANTED.trim_start_matches('/'));
        fs::create_dir_all(&wants).unwrap();
        for name in [
            "schedctl@scx_b.service",
            "sshd.service",
            "schedctl@a.service",
        ] {
            fs::write(wants.join(name), "").unwrap();
        }
        let ours = ["schedctl@a.service", "schedctl@scx_b.service"];
        assert_eq!(enabled(&root).unwrap(), ours);
    }

    #[test]
    fn a_packages_unit_is_left_alone() {
        let (folder, root) = machine();
        let packaged = folder.path().join("usr/lib/systemd/system");
        fs::create_dir_all(&packaged).unwrap();
        fs::write(packaged.join(TEMPLATE), "theirs").unwrap();
        put_unit(&root).unwrap();
        assert!(!root.path(ADMIN_UNITS).join(TEMPLATE).exists());
        fs::remove_file(packaged.join(TEMPLATE)).unwrap();
        put_unit(&root).unwrap();
        assert!(root.path(ADMIN_UNITS).join(TEMPLATE).exists());
    }

    /// With the real systemctl, on a tree of files.
    #[test]
    fn one_is_enabled_at_a_time() {
        let (_folder, root) = machine();
        let units = ["scx_a", "ghcr.io/schedkit/scx-b:1.0"].map(boot::instance);
        let [first, second] = &units;
        assert!(only(first, &root).unwrap().is_empty());
        assert!(only(first, &root).unwrap().is_empty());
        assert_eq!(enabled(&root).unwrap(), [first.as_str()]);
        let link = fs::read_link(root.path(WANTED).join(first)).unwrap();
        assert!(link.ends_with(TEMPLATE), "{link:?}");
        assert_eq!(only(second, &root).unwrap(), [first.as_str()]);
        assert_eq!(enabled(&root).unwrap(), [second.as_str()]);
        assert_eq!(none(&root).unwrap(), [second.as_str()]);
        assert!(none(&root).unwrap().is_empty());
        assert!(enabled(&root).unwrap().is_empty());
    }

    #[test]
    fn systemd_finds_nothing_wrong_with_the_unit() {
        let (_folder, root) = machine();
        put_unit(&root).unwrap();
        let instance = boot::instance("scx_a");
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .arg(root.path(ADMIN_UNITS).join(instance))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !said.contains("schedctl@"),
            "{said}"
        );
    }
}
