//! Machines as folders, read as a whole. What a real kernel shows is proved in the lab's machine.

#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

use schedkit_host::btf::Btf;
use schedkit_host::kernel::BpfJit;
use schedkit_host::lockdown::Lockdown;
use schedkit_host::rivals::Rival;
use schedkit_host::{Architecture, Fact, HostRoot, HostSnapshot, State};

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
fn an_attached_scheduler_is_seen_in_every_file() {
    let seen = machine("ready-attached").sched_ext;
    let seen = seen.known().unwrap();
    assert_eq!(seen.state, Fact::Known(State::Enabled));
    assert_eq!(
        seen.attached().unwrap().scheduler(),
        "scx_bpfland".parse().unwrap()
    );
    assert_eq!(seen.switch_all, Fact::Known(true));
    assert_eq!(seen.nr_rejected, Fact::Known(0));
    assert_eq!(seen.hotplug_seq, Fact::Known(5));
    assert_eq!(seen.enable_seq, Fact::Known(14));
    let events = seen.events.known().unwrap();
    assert_eq!(events.get("SCX_EV_BYPASS_DURATION"), Some(109_314_213));
    assert_eq!(events.iter().count(), 9);
}

#[test]
fn an_idle_machine_has_everything_but_a_scheduler() {
    let seen = machine("ready-idle");
    let release = seen.kernel.release.known().unwrap();
    assert_eq!(release.as_str(), "6.18.15+deb13-cloud-amd64");
    assert_eq!(
        seen.kernel.boot_id.known().unwrap(),
        "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11"
    );
    assert_eq!(seen.kernel.realtime, Fact::Known(false));
    assert_eq!(seen.kernel.bpf_jit, Fact::Known(BpfJit::On));
    assert_eq!(seen.architecture, Fact::Known(Architecture::Amd64));
    assert_eq!(seen.btf, Fact::Known(Btf { version: 1 }));
    assert_eq!(seen.lockdown, Fact::Known(Lockdown::None));
    assert_eq!(seen.rivals, []);
    let sched_ext = seen.sched_ext.known().unwrap();
    assert_eq!(sched_ext.state, Fact::Known(State::Disabled));
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
        let seen = machine(name);
        let config = seen.config.known().unwrap();
        assert_eq!(config.source.path(), source);
        assert_eq!(config.has("SCHED_CLASS_EXT"), has, "{name}");
        assert!(config.has("BPF"), "{name}");
    }
}

#[test]
fn the_first_trouble_with_a_configuration_is_told() {
    let room = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("proc/sys/kernel/osrelease", "6.18.0\n"),
        ("proc/config.gz", "not packed"),
        ("boot/config-6.18.0", "no options"),
    ] {
        let path = room.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = HostRoot::at(room.path());
    let told = HostSnapshot::read(&root).config;
    assert!(matches!(told, Fact::Unreadable(_)), "{told:?}");
    fs::remove_file(room.path().join("proc/config.gz")).unwrap();
    let told = HostSnapshot::read(&root).config;
    assert!(matches!(told, Fact::Strange(_)), "{told:?}");
}

#[test]
fn what_is_missing_is_absent_and_takes_nothing_with_it() {
    let seen = machine("no-sched-ext");
    assert_eq!(seen.sched_ext, Fact::Absent);
    assert!(seen.btf.known().is_some());
    let seen = machine("no-btf");
    assert_eq!(seen.btf, Fact::Absent);
    assert!(seen.sched_ext.known().is_some());
    let seen = machine("partial");
    assert_eq!(seen.capabilities, Fact::Absent);
    let sched_ext = seen.sched_ext.known().unwrap();
    assert_eq!(sched_ext.state, Fact::Known(State::Disabling));
    assert!(sched_ext.is_in_motion());
    assert!(sched_ext.ops.known().is_some());
    assert_eq!(sched_ext.attached(), None, "who is going is not attached");
    assert_eq!(sched_ext.enable_seq, Fact::Known(7));
    assert_eq!(sched_ext.switch_all, Fact::Absent);
    assert_eq!(sched_ext.events, Fact::Absent);
}

#[test]
fn garbage_is_kept_as_what_it_is() {
    let seen = machine("garbage");
    let sched_ext = seen.sched_ext.known().unwrap();
    let unknown = State::Unknown("bypassing".to_owned());
    assert_eq!(sched_ext.state, Fact::Known(unknown));
    assert_eq!(sched_ext.switch_all, Fact::Strange("maybe".to_owned()));
    assert_eq!(sched_ext.nr_rejected, Fact::Strange("-1".to_owned()));
    assert!(matches!(sched_ext.hotplug_seq, Fact::Strange(_)));
    assert_eq!(sched_ext.enable_seq, Fact::Strange(String::new()));
    assert_eq!(sched_ext.ops, Fact::Strange("(efault)".to_owned()));
    assert_eq!(sched_ext.attached(), None);
    assert!(matches!(seen.kernel.release, Fact::Strange(_)));
    assert!(matches!(seen.kernel.boot_id, Fact::Strange(_)));
    let jit = BpfJit::Unknown("7".to_owned());
    assert_eq!(seen.kernel.bpf_jit, Fact::Known(jit));
    let vax = Architecture::Unknown("vax".to_owned());
    assert_eq!(seen.architecture, Fact::Known(vax));
    assert!(matches!(seen.capabilities, Fact::Strange(_)));
    assert!(matches!(seen.command_line, Fact::Strange(_)));
    assert!(matches!(seen.lockdown, Fact::Strange(_)));
    assert!(matches!(seen.btf, Fact::Strange(_)));
    assert!(matches!(seen.config, Fact::Unreadable(_)));
}

#[test]
fn what_cannot_be_read_says_so() {
    let seen = machine("unreadable");
    let HostSnapshot {
        kernel,
        architecture,
        config,
        command_line,
        btf,
        lockdown,
        sched_ext,
        capabilities,
        rivals,
    } = seen;
    assert!(matches!(kernel.release, Fact::Unreadable(_)));
    assert!(matches!(kernel.realtime, Fact::Unreadable(_)));
    assert!(matches!(kernel.bpf_jit, Fact::Unreadable(_)));
    assert!(matches!(architecture, Fact::Unreadable(_)));
    assert!(matches!(config, Fact::Unreadable(_)));
    assert!(matches!(command_line, Fact::Unreadable(_)));
    assert!(matches!(btf, Fact::Unreadable(_)));
    assert!(matches!(lockdown, Fact::Unreadable(_)));
    assert!(matches!(capabilities, Fact::Unreadable(_)));
    assert_eq!(rivals, []);
    let sched_ext = sched_ext.known().unwrap().clone();
    assert!(matches!(sched_ext.state, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.ops, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.events, Fact::Unreadable(_)));
}

#[test]
fn a_crowded_machine_names_them_all() {
    let seen = machine("crowded");
    let line = seen.command_line.known().unwrap();
    assert_eq!(line.isolcpus.as_deref(), Some("managed_irq,2-3"));
    assert_eq!(line.nohz_full.as_deref(), Some("2-3"));
    assert_eq!(seen.kernel.realtime, Fact::Known(true));
    assert_eq!(seen.kernel.bpf_jit, Fact::Known(BpfJit::Off));
    assert_eq!(seen.lockdown, Fact::Known(Lockdown::Confidentiality));
    let service = Rival::Service {
        name: "scx.service",
    };
    let process = Rival::Process {
        pid: 640,
        name: "scx_loader",
    };
    assert_eq!(seen.rivals, [service, process]);
}

#[test]
fn huge_files_are_not_read_whole() {
    let room = tempfile::tempdir().unwrap();
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
        let path = room.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Sparse: it takes no room on the disk, and reading it whole would take minutes.
        fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    }
    let seen = HostSnapshot::read(&HostRoot::at(room.path()));
    assert!(matches!(seen.config, Fact::Unreadable(_)));
    assert!(matches!(seen.command_line, Fact::Unreadable(_)));
    assert!(matches!(seen.capabilities, Fact::Unreadable(_)));
    assert!(matches!(seen.kernel.release, Fact::Unreadable(_)));
    assert!(
        matches!(seen.btf, Fact::Strange(_)),
        "only its beginning is read"
    );
    let sched_ext = seen.sched_ext.known().unwrap();
    assert!(matches!(sched_ext.state, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.ops, Fact::Unreadable(_)));
    assert!(matches!(sched_ext.events, Fact::Unreadable(_)));
}

#[test]
fn a_machine_without_anything_is_a_machine() {
    let room = tempfile::tempdir().unwrap();
    let seen = HostSnapshot::read(&HostRoot::at(room.path()));
    assert_eq!(seen.sched_ext, Fact::Absent);
    assert_eq!(seen.kernel.release, Fact::Absent);
    assert_eq!(seen.config, Fact::Absent);
    assert_eq!(seen.rivals, []);
}

#[test]
fn a_snapshot_is_a_document() {
    let seen = serde_json::to_value(machine("ready-attached")).unwrap();
    assert_eq!(seen["sched_ext"]["known"]["state"]["known"], "enabled");
    assert_eq!(seen["sched_ext"]["known"]["enable_seq"]["known"], 14);
    assert_eq!(seen["capabilities"]["known"], "000001ffffffffff");
    assert_eq!(seen["config"]["known"]["options"]["SCHED_CLASS_EXT"], "y");
    let seen = serde_json::to_value(machine("no-btf")).unwrap();
    assert_eq!(seen["btf"], "absent");
}

/// The kernel that runs these tests, whatever it is.
#[test]
fn this_machine_has_a_release() {
    let seen = HostSnapshot::read(&HostRoot::system());
    let said = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(seen.kernel.release.known().unwrap().as_str(), said.trim());
    assert!(seen.capabilities.known().is_some());
}
