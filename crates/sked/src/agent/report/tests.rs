//! Reports from readings and from files of a fake machine.

use std::fs;

use schedkit_host::HostRoot;

use super::*;

const BOOT: &str = "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn since(second: i64) -> Option<MicroTime> {
    Some(micro_time(at(second)))
}

fn kernel() -> KernelInfo {
    KernelInfo {
        release: Fact::Known("6.18.15+deb13-cloud-amd64".parse().unwrap()),
        boot_id: Fact::Known(BOOT.to_owned()),
        realtime: Fact::Absent,
        bpf_jit: Fact::Absent,
    }
}

fn attached() -> KernelSchedExt {
    KernelSchedExt {
        state: Fact::Known(SchedExtState::Enabled),
        ops: Fact::Known("lab".parse().unwrap()),
        switch_all: Fact::Known(true),
        nr_rejected: Fact::Known(0),
        hotplug_seq: Fact::Known(9),
        enable_seq: Fact::Known(3),
        events: Fact::Absent,
    }
}

fn reported(
    read: KernelSchedExt,
    previous: Option<&SchedExtNodeStatus>,
    now: i64,
) -> SchedExtNodeStatus {
    report(&Fact::Known(read), &kernel(), previous, at(now))
}

#[test]
fn an_attached_scheduler_is_reported_completely() {
    let expected = SchedExtNodeStatus {
        kernel_release: Some("6.18.15+deb13-cloud-amd64".to_owned()),
        boot_id: Some(BOOT.to_owned()),
        supported: Some(true),
        state: Some("enabled".to_owned()),
        ops: Some("lab".to_owned()),
        enable_seq: Some(3),
        switch_all: Some(true),
        nr_rejected: Some(0),
        since: since(7),
        kernel_gaps: None,
        trouble: None,
    };
    assert_eq!(reported(attached(), None, 7), expected);
}

#[test]
fn since_is_kept_while_it_is_the_same_attach() {
    let first = reported(attached(), None, 7);
    let same = KernelSchedExt {
        nr_rejected: Fact::Known(5),
        switch_all: Fact::Known(false),
        hotplug_seq: Fact::Known(10),
        ..attached()
    };
    assert_eq!(reported(same, Some(&first), 8).since, since(7));
    for other in [
        KernelSchedExt {
            enable_seq: Fact::Known(4),
            ..attached()
        },
        KernelSchedExt {
            state: Fact::Known(SchedExtState::Disabling),
            ..attached()
        },
        KernelSchedExt {
            ops: Fact::Known("other".parse().unwrap()),
            ..attached()
        },
    ] {
        assert_eq!(reported(other, Some(&first), 8).since, since(8));
    }
    let rebooted = KernelInfo {
        boot_id: Fact::Known(BOOT.replace('0', "1")),
        ..kernel()
    };
    let after = report(&Fact::Known(attached()), &rebooted, Some(&first), at(8));
    assert_eq!(after.since, since(8));
    let nameless = SchedExtNodeStatus {
        since: None,
        ..first
    };
    assert_eq!(reported(attached(), Some(&nameless), 8).since, since(8));
}

#[test]
fn a_time_is_read_back_as_it_was_written() {
    let now = Timestamp::from_nanosecond(1_700_000_000_123_456_789).unwrap();
    let first = report(&Fact::Known(attached()), &kernel(), None, now);
    let json = serde_json::to_string(&first).unwrap();
    assert_eq!(
        serde_json::from_str::<SchedExtNodeStatus>(&json).unwrap(),
        first
    );
}

#[test]
fn support_depends_on_the_sysfs_folder() {
    let absent = report(&Fact::Absent, &kernel(), None, at(1));
    assert_eq!((absent.supported, absent.trouble), (Some(false), None));
    let denied = Fact::Unreadable("Permission denied".to_owned());
    let denied = report(&denied, &kernel(), None, at(1));
    assert_eq!(denied.supported, None);
    let trouble = denied.trouble.unwrap();
    assert_eq!(
        trouble,
        "/sys/kernel/sched_ext cannot be read: Permission denied"
    );
}

#[test]
fn an_unknown_state_is_reported_as_it_is() {
    let read = KernelSchedExt {
        state: Fact::Known(SchedExtState::Unknown("bypassing".to_owned())),
        ..attached()
    };
    let status = reported(read, None, 1);
    assert_eq!(
        (status.state.as_deref(), status.trouble),
        (Some("bypassing"), None)
    );
    let read = KernelSchedExt {
        state: Fact::Known(SchedExtState::Unknown(String::new())),
        ..attached()
    };
    let status = reported(read, None, 1);
    assert_eq!(status.state, None);
    assert_eq!(status.trouble.as_deref(), Some("state is empty"));
}

#[test]
fn a_missing_value_is_explained_where_it_should_exist() {
    let idle = KernelSchedExt {
        state: Fact::Known(SchedExtState::Disabled),
        ops: Fact::Absent,
        ..attached()
    };
    assert_eq!(reported(idle, None, 1).trouble, None);
    let nameless = KernelSchedExt {
        ops: Fact::Absent,
        enable_seq: Fact::Known(u64::MAX),
        ..attached()
    };
    let status = reported(nameless, None, 1);
    assert_eq!((status.ops, status.enable_seq), (None, None));
    let trouble = status.trouble.unwrap();
    assert_eq!(
        trouble,
        "root/ops is not there; enable_seq is too large: 18446744073709551615"
    );
}

#[test]
fn hostile_files_make_a_report_that_the_api_server_accepts() {
    let machine = tempfile::tempdir().unwrap();
    let folder = machine.path().join("sys/kernel/sched_ext");
    fs::create_dir_all(folder.join("root")).unwrap();
    let noise = "\u{1b}[2J\u{202e}\"\\".repeat(500);
    for file in [
        "state",
        "root/ops",
        "switch_all",
        "nr_rejected",
        "enable_seq",
    ] {
        fs::write(folder.join(file), &noise).unwrap();
    }
    let kernel = machine.path().join("proc/sys/kernel");
    fs::create_dir_all(kernel.join("random")).unwrap();
    fs::write(kernel.join("osrelease"), &noise).unwrap();
    fs::write(kernel.join("random/boot_id"), vec![0xff; 1 << 20]).unwrap();
    let root = HostRoot::at(machine.path());
    let status = report(
        &KernelSchedExt::read(&root),
        &KernelInfo::read(&root),
        None,
        at(1),
    );
    let limits = [
        (&status.state, 256),
        (&status.ops, 128),
        (&status.trouble, 1024),
    ];
    for (text, most) in limits {
        let text = text.as_deref().unwrap_or_default();
        assert!(text.chars().count() <= most, "{text}");
        assert!(!text.contains(char::is_control), "{text}");
    }
    assert_eq!(status.supported, Some(true));
    assert!(status.trouble.unwrap().contains("the boot id"));
}
