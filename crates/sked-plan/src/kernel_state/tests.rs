//! Which report is believed: each row of the table in turn.

use super::*;
use crate::fixture::node;
use crate::name::Uid;

fn report() -> Report {
    Report {
        owner: Some(Uid("node-uid".to_owned())),
        boot_id: Some("boot-1".to_owned()),
        release: Some("6.18.15".to_owned()),
        supported: Some(true),
        state: Some("enabled".to_owned()),
        ops: Some("lab".parse().unwrap()),
        enable_seq: Some(3),
        since: Some(Timestamp::UNIX_EPOCH),
        trouble: None,
    }
}

fn word(report: &Report) -> Kernel {
    kernel(&node("node1"), Some(report), true)
}

#[test]
fn a_fresh_report_is_the_kernels_word() {
    let enabled = Kernel::Enabled {
        ops: "lab".parse().unwrap(),
        since: Timestamp::UNIX_EPOCH,
    };
    assert_eq!(word(&report()), enabled);
    for (state, expected) in [
        ("disabled", Kernel::Disabled),
        ("disabling", Kernel::Disabled),
        ("enabling", Kernel::Enabling),
        ("prepping", Kernel::Enabling),
    ] {
        let report = Report {
            state: Some(state.to_owned()),
            ops: None,
            ..report()
        };
        assert_eq!(word(&report), expected, "{state}");
    }
    let unsupported = Report {
        supported: Some(false),
        state: None,
        ops: None,
        ..report()
    };
    assert_eq!(
        word(&unsupported),
        Kernel::Unsupported("6.18.15".to_owned())
    );
}

#[test]
fn what_cannot_be_believed_is_not_known() {
    let silence = |kernel: Kernel| match kernel {
        Kernel::Unknown(silence) => silence,
        other => panic!("{other:?}"),
    };
    let node = node("node1");
    assert_eq!(silence(kernel(&node, None, true)), Silence::NoReport);
    assert_eq!(
        silence(kernel(&node, Some(&report()), false)),
        Silence::NoAgent
    );
    let with = |change: &dyn Fn(&mut Report)| {
        let mut report = report();
        change(&mut report);
        silence(word(&report))
    };
    assert_eq!(
        with(&|one| one.boot_id = Some("boot-0".to_owned())),
        Silence::OtherBoot
    );
    assert_eq!(with(&|one| one.boot_id = None), Silence::OtherBoot);
    assert_eq!(with(&|one| one.owner = None), Silence::OtherNode);
    assert_eq!(
        with(&|one| one.owner = Some(Uid("earlier".to_owned()))),
        Silence::OtherNode
    );
    for unclear in [
        with(&|one| one.state = Some("bypassing".to_owned())),
        with(&|one| one.state = None),
        with(&|one| one.ops = None),
        with(&|one| one.since = None),
    ] {
        assert!(matches!(unclear, Silence::Unclear(_)), "{unclear}");
    }
}
