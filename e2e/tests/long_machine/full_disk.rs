//! A full disk in every step that writes to one: what can be done without is done without, else one
//! sentence says what could not be written, and nothing is left. The runtimes' own disks are in
//! `bad_input`.

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};

/// A full file system over a folder, for as long as it lives.
struct FullDisk<'a> {
    machine: &'a Machine,
    folder: &'a str,
}

impl<'a> FullDisk<'a> {
    fn at(machine: &'a Machine, folder: &'a str) -> Self {
        machine.shell(&format!("mkdir -p {folder}"));
        machine.cover(folder, "16k");
        machine.shell(&format!(
            "chmod 700 {folder}; head -c 1M /dev/zero >{folder}/fill 2>/dev/null || true"
        ));
        Self { machine, folder }
    }

    /// What is in it beside what fills it.
    fn files(&self) -> String {
        let folder = self.folder;
        self.machine.shell(&format!(
            "find {folder} -type f ! -name fill ! -name '*lock'"
        ))
    }
}

impl Drop for FullDisk<'_> {
    fn drop(&mut self) {
        self.machine.uncover(self.folder);
    }
}

#[test]
fn a_scheduler_starts_without_what_schedctl_keeps_for_later() {
    let machine = machine_with_bpfland();
    for (folder, warning) in [
        ("/var/lib/schedctl", "the verdict was not kept"),
        ("/var/cache/schedctl", ""),
        ("/var/log/schedctl", ""),
    ] {
        machine.shell("rm -rf /var/lib/schedctl/verdicts");
        let _disk = FullDisk::at(&machine, folder);
        for driver in DRIVERS {
            let run = machine.schedctl(&["-d", driver, "run", "scx_lab"]);
            assert_eq!(run.status, 0, "{folder}: {}", run.text());
            assert!(run.stderr.contains(warning), "{folder}: {}", run.text());
            assert!(machine.ops().is_some());
            machine.must(&["-d", driver, "logs"]);
            machine.must(&["-d", driver, "stop", "scx_lab"]);
            machine.must_be_idle(driver);
        }
    }
}

#[test]
fn a_trial_that_cannot_be_written_down_does_not_begin() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let disk = FullDisk::at(&machine, "/run/schedctl");
        let run = machine.schedctl(&["-d", driver, "run", "scx_lab", "--trial", "10m"]);
        assert_eq!(run.status, 1, "{}", run.text());
        let reason = "No space left on device";
        assert!(run.stderr.contains(reason), "{}", run.text());
        assert_eq!(disk.files(), "");
        machine.must_be_idle(driver);
    }
}

#[test]
fn what_cannot_be_enabled_completely_is_not_enabled() {
    let machine = machine_with_bpfland();
    for folder in ["/etc/schedctl/enabled", "/etc/systemd/system"] {
        let disk = FullDisk::at(&machine, folder);
        let enable = machine.schedctl(&["enable", "scx_lab"]);
        assert_eq!(enable.status, 1, "{folder}: {}", enable.text());
        let reason = "No space left on device";
        assert!(
            enable.stderr.contains(reason),
            "{folder}: {}",
            enable.text()
        );
        assert!(!enable.stderr.contains("as root"), "{}", enable.text());
        assert_eq!(disk.files(), "", "{folder}");
        let kept = machine.shell("ls /etc/schedctl/enabled 2>/dev/null || true");
        assert!(!kept.contains("scx_lab"), "{folder}: {kept}");
    }
    machine.must(&["disable"]);
}
