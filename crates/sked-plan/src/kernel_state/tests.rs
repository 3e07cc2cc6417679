//! Which reports are trusted.

use super::*;
use crate::fixture::node;
use crate::name::Uid;

fn report() -> NodeReport {
    NodeReport {
        owner: Some(Uid("node-uid".to_owned())),
        boot_id: Some("boot-1".to_owned()),
        release: Some("6.18.15".to_owned()),
        supported: Some(true),
        state: Some("enabled".to_owned()),
        ops: Some("lab".parse().unwrap()),
        enable_seq: Some(3),
        since: Some(Timestamp::UNIX_EPOCH),
        kernel_gaps: None,
        trouble: None,
    }
}

fn state(report: &NodeReport) -> KernelState {
    kernel_state(&node("node1"), Some(report), true)
}

#[test]
fn a_current_report_gives_the_kernels_state() {
    let enabled = KernelState::Enabled {
        ops: "lab".parse().unwrap(),
        since: Timestamp::UNIX_EPOCH,
    };
    assert_eq!(state(&report()), enabled);
    for (state, expected) in [
        ("disabled", KernelState::Disabled),
        ("disabling", KernelState::Disabled),
        ("enabling", KernelState::Enabling),
        ("prepping", KernelState::Enabling),
    ] {
        let report = NodeReport {
            state: Some(state.to_owned()),
            ops: None,
            ..report()
        };
        assert_eq!(self::state(&report), expected, "{state}");
    }
    let unsupported = NodeReport {
        supported: Some(false),
        state: None,
        ops: None,
        ..report()
    };
    assert_eq!(
        state(&unsupported),
        KernelState::Unsupported("6.18.15".to_owned())
    );
}

#[test]
fn a_report_that_cannot_be_trusted_is_unknown() {
    let unknown = |kernel: KernelState| match kernel {
        KernelState::Unknown(reason) => reason,
        other => panic!("{other:?}"),
    };
    let node = node("node1");
    assert_eq!(
        unknown(kernel_state(&node, None, true)),
        UnknownReason::NoReport
    );
    assert_eq!(
        unknown(kernel_state(&node, Some(&report()), false)),
        UnknownReason::NoAgent
    );
    let with = |change: &dyn Fn(&mut NodeReport)| {
        let mut report = report();
        change(&mut report);
        unknown(state(&report))
    };
    assert_eq!(
        with(&|one| one.boot_id = Some("boot-0".to_owned())),
        UnknownReason::OtherBoot
    );
    assert_eq!(with(&|one| one.boot_id = None), UnknownReason::OtherBoot);
    assert_eq!(with(&|one| one.owner = None), UnknownReason::OtherNode);
    assert_eq!(
        with(&|one| one.owner = Some(Uid("earlier".to_owned()))),
        UnknownReason::OtherNode
    );
    for unclear in [
        with(&|one| one.state = Some("bypassing".to_owned())),
        with(&|one| one.state = None),
        with(&|one| one.ops = None),
        with(&|one| one.since = None),
    ] {
        assert!(matches!(unclear, UnknownReason::Unclear(_)), "{unclear}");
    }
}
