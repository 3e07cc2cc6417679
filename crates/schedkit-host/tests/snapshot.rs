//! Snapshots of machines that are folders. The lab's tests read a real kernel.

#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

use schedkit_host::btf::Btf;
use schedkit_host::kernel::BpfJit;
use schedkit_host::lockdown::Lockdown;
use schedkit_host::other_managers::OtherManager;
use schedkit_host::{Architecture, Fact, HostRoot, HostSnapshot, SchedExtState};

fn folder(machine: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(machine)
}

fn machine(name: &str) -> HostSnapshot {
    let folder = folder(name);
    assert!(folder.is_dir(), "{name} is no fixture");
    HostSnapshot::read(&HostRoot::at(folder))
}

#[test]
fn an_attached_scheduler_is_read_from_every_file() {
    let snapshot = machine("ready-attached").sched_ext;
    let snapshot = snapshot.known().unwrap();
    assert_eq!(snapshot.state, Fact::Known(SchedExtState::Enabled));
    assert_eq!(
        snapshot.attached().unwrap().scheduler(),
        "scx_bpfland".parse().unwrap()
    );
    assert_eq!(snapshot.switch_all, Fact::Known(true));
    assert_eq!(snapshot.nr_rejected, Fact::Known(0));
    assert_eq!(snapshot.hotplug_seq, Fact::Known(5));
    assert_eq!(snapshot.enable_seq, Fact::Known(14));
    let events = snapshot.events.known().unwrap();
    assert_eq!(events.get("SCX_EV_BYPASS_DURATION"), Some(109_314_213));
    assert_eq!(events.iter().count(), 9);
}

#[test]
fn an_idle_machine_has_everything_but_a_scheduler() {
    let snapshot = machine("ready-idle");
    let release = snapshot.kernel.release.known().unwrap();
    assert_eq!(release.as_str(), "6.18.15+deb13-cloud-amd64");
    assert_eq!(
        snapshot.kernel.boot_id.known().unwrap(),
        "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11"
    );
    assert_eq!(snapshot.kernel.realtime, Fact::Known(false));
    assert_eq!(snapshot.kernel.bpf_jit, Fact::Known(BpfJit::On));
    assert_eq!(snapshot.architecture, Fact::Known(Architecture::Amd64));
    assert_eq!(snapshot.btf, Fact::Known(Btf { version: 1 }));
    assert_eq!(snapshot.lockdown, Fact::Known(Lockdown::None));
    assert_eq!(snapshot.other_managers, []);
    let sched_ext = snapshot.sched_ext.known().unwrap();
    assert_eq!(sched_ext.state, Fact::Known(SchedExtState::Disabled));
    assert_eq!(sched_ext.ops, Fact::Absent);
    assert_eq!(sched_ext.attached(), None);
}

#[test]
fn a_configuration_comes_from_the_best_source() {
    for (name, source, has) in [
        ("ready-idle", "/proc/config.gz", true),
        (
            "ready-attached",
            "/boot/config-6.18.15+deb13-cloud-amd64",
            true,
        ),
        (
            "no-sched-ext",
            "/lib/modules/6.12.48+deb13-amd64/config",
            false,
        ),
    ] {
        let snapshot = machine(name);
        let config = snapshot.config.known().unwrap();
        assert_eq!(config.source.path(), source);
        assert_eq!(config.has("SCHED_CLASS_EXT"), has, "{name}");
        assert!(config.has("BPF"), "{name}");
    }
}

#[test]
fn the_first_problem_with_a_configuration_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("proc/sys/kernel/osrelease", "6.18.0\n"),
        ("proc/config.gz", "not packed"),
        ("boot/config-6.18.0", "no options"),
    ] {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = HostRoot::at(dir.path());
    let config = HostSnapshot::read(&root).config;
    assert!(matches!(config, Fact::Unreadable(_)), "{config:?}");
    fs::remove_file(dir.path().join("proc/config.gz")).unwrap();
    let config = HostSnapshot::read(&root).config;
    assert!(matches!(config, Fact::Malformed(_)), "{config:?}");
}

#[test]
fn a_missing_file_does_not_affect_the_others() {
    let snapshot = machine("no-sched-ext");
    assert_eq!(snapshot.sched_ext, Fact::Absent);
    assert!(snapshot.btf.known().is_some());
    let snapshot = machine("no-btf");
    assert_eq!(snapshot.btf, Fact::Absent);
    assert!(snapshot.sched_ext.known().is_some());
    let snapshot = machine("partial");
    assert_eq!(snapshot.capabilities, Fact::Absent);
    let sched_ext = snapshot.sched_ext.known().unwrap();
    assert_eq!(sched_ext.state, Fact::Known(SchedExtState::Disabling));
    assert!(sched_ext.is_transitional());
    assert!(sched_ext.ops.known().is_some());
    assert_eq!(
        sched_ext.attached(),
        None,
        "a scheduler that is being detached is not attached"
    );
    assert_eq!(sched_ext.enable_seq, Fact::Known(7));
    assert_eq!(sched_ext.switch_all, Fact::Absent);
    assert_eq!(sched_ext.events, Fact::Absent);
}

#[test]
fn malformed_values_are_kept_as_text() {
    let snapshot = machine("malformed");
    let sched_ext = snapshot.sched_ext.known().unwrap();
    let unknown = SchedExtState::Unknown("bypassing".to_owned());
    assert_eq!(sched_ext.state, Fact::Known(unknown));
    assert_eq!(sched_ext.switch_all, Fact::Malformed("maybe".to_owned()));
    assert_eq!(sched_ext.nr_rejected, Fact::Malformed("-1".to_owned()));
    assert!(matches!(sched_ext.hotplug_seq, Fact::Malformed(_)));
    assert_eq!(sched_ext.enable_seq, Fact::Malformed(String::new()));
    assert_eq!(sched_ext.ops, Fact::Malformed("(efault)".to_owned()));
    assert_eq!(sched_ext.attached(), None);
    assert!(matches!(snapshot.kernel.release, Fact::Malformed(_)));
    assert!(matches!(snapshot.kernel.boot_id, Fact::Malformed(_)));
    let jit = BpfJit::Unknown("7".to_owned());
    assert_eq!(snapshot.kernel.bpf_jit, Fact::Known(jit));
    let vax = Architecture::Unknown("vax".to_owned());
    assert_eq!(snapshot.architecture, Fact::Known(vax));
    assert!(matches!(snapshot.capabilities, Fact::Malformed(_)));
    assert!(matches!(snapshot.command_line, Fact::Malformed(_)));
    assert!(matches!(snapshot.lockdown, Fact::Malformed(_)));
    assert!(matches!(snapshot.btf, Fact::Malformed(_)));
    assert!(matches!(snapshot.config, Fact::Unreadable(_)));
}

#[test]
fn unreadable_files_are_reported() {
    let snapshot = machine("unreadable");
    let HostSnapshot {
        kernel,
        architecture,
        config,
        command_line,
        btf,
        lockdown,
        trace_mounts,
        sched_ext,
        capabilities,
        other_managers,
        other_runtimes,
    } = snapshot;
    assert!(matches!(kernel.release, Fact::Unreadable(_)));
    assert!(matches!(kernel.realtime, Fact::Unreadable(_)));
    assert!(matches!(kernel.bpf_jit, Fact::Unreadable(_)));
    assert!(matches!(architecture, Fact::Unreadable(_)));
    assert!(matches!(trace_mounts, Fact::Unreadable(_)));
    assert!(matches!(config, Fact::Unreadable(_)));
    assert!(matches!(command_line, Fact::Unreadable(_)));
    assert!(matches!(btf, Fact::Unreadable(_)));
    assert!(matches!(lockdown, Fact::Unreadable(_)));
    assert!(matches!(capabilities, Fact::Unreadable(_)));
    assert_eq!(other_managers, []);
    assert_eq!(other_runtimes, []);
    let sched_ext = sched_ext.known().unwrap().clone();
    assert!(matches!(sched_ext.state, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.ops, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.events, Fact::Unreadable(_)));
}

#[test]
fn a_machine_with_all_warnings_is_read() {
    let snapshot = machine("all-warnings");
    let line = snapshot.command_line.known().unwrap();
    assert_eq!(line.isolcpus.as_deref(), Some("managed_irq,2-3"));
    assert_eq!(line.nohz_full.as_deref(), Some("2-3"));
    assert_eq!(snapshot.kernel.realtime, Fact::Known(true));
    assert_eq!(snapshot.kernel.bpf_jit, Fact::Known(BpfJit::Off));
    assert_eq!(snapshot.lockdown, Fact::Known(Lockdown::Confidentiality));
    let service = OtherManager::Service {
        name: "scx.service",
    };
    let process = OtherManager::Process {
        pid: 640,
        name: "scx_loader",
    };
    assert_eq!(snapshot.other_managers, [service, process]);
}

#[test]
fn huge_files_are_not_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        "proc/config.gz",
        "proc/cmdline",
        "proc/self/status",
        "proc/sys/kernel/osrelease",
        "sys/kernel/sched_ext/state",
        "sys/kernel/sched_ext/root/ops",
        "sys/kernel/sched_ext/root/events",
        "sys/kernel/btf/vmlinux",
    ];
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Sparse: it takes no space on the disk, and reading it whole would take minutes.
        fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    }
    let snapshot = HostSnapshot::read(&HostRoot::at(dir.path()));
    assert!(matches!(snapshot.config, Fact::Unreadable(_)));
    assert!(matches!(snapshot.command_line, Fact::Unreadable(_)));
    assert!(matches!(snapshot.capabilities, Fact::Unreadable(_)));
    assert!(matches!(snapshot.kernel.release, Fact::Unreadable(_)));
    assert!(
        matches!(snapshot.btf, Fact::Malformed(_)),
        "only its beginning is read"
    );
    let sched_ext = snapshot.sched_ext.known().unwrap();
    assert!(matches!(sched_ext.state, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.ops, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.events, Fact::Unreadable(_)));
}

#[test]
fn an_empty_folder_is_a_machine() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = HostSnapshot::read(&HostRoot::at(dir.path()));
    assert_eq!(snapshot.sched_ext, Fact::Absent);
    assert_eq!(snapshot.kernel.release, Fact::Absent);
    assert_eq!(snapshot.config, Fact::Absent);
    assert_eq!(snapshot.other_managers, []);
}

#[test]
fn a_snapshot_can_be_serialized() {
    let snapshot = serde_json::to_value(machine("ready-attached")).unwrap();
    assert_eq!(snapshot["sched_ext"]["known"]["state"]["known"], "enabled");
    assert_eq!(snapshot["sched_ext"]["known"]["enable_seq"]["known"], 14);
    assert_eq!(snapshot["capabilities"]["known"], "000001ffffffffff");
    assert_eq!(
        snapshot["config"]["known"]["options"]["SCHED_CLASS_EXT"],
        "y"
    );
    let snapshot = serde_json::to_value(machine("no-btf")).unwrap();
    assert_eq!(snapshot["btf"], "absent");
}

/// The kernel that runs these tests, whatever it is.
#[test]
fn this_machine_has_a_release() {
    let snapshot = HostSnapshot::read(&HostRoot::system());
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(
        snapshot.kernel.release.known().unwrap().as_str(),
        release.trim()
    );
    assert!(snapshot.capabilities.known().is_some());
}
