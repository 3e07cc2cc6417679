//! One scheduler takes the place of another one.

use super::*;

#[tokio::test]
async fn a_failed_create_or_ready_keeps_the_old_one_running() {
    for (fails, done) in [
        ("create", &["create"][..]),
        ("ready", &["create", "ready new-id", "remove new-id"]),
    ] {
        let fake = FakeRuntime::new(Behaviour::Attaches);
        fake.fail(fails, u32::MAX);
        let old = fake.old();
        let failure = run(&fake, Some(old), OPTIONS).await.unwrap_err();
        assert!(matches!(failure.cause, FailureCause::Driver(_)));
        assert_eq!(fake.done(), done);
        assert_eq!(fake.running().as_deref(), Some("old-id"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_one_that_blocks_the_runtime_is_still_replaced() {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    fake.hang_in_ready();
    let old = fake.old();
    run(&fake, Some(old), OPTIONS).await.unwrap();
    assert_eq!(fake.running().as_deref(), Some("new-id"));
}

#[tokio::test]
async fn a_swap_stops_the_old_one_before_the_new_one_starts() {
    for attached in [true, false] {
        let fake = FakeRuntime::new(Behaviour::Attaches);
        let old = fake.old();
        if !attached {
            fake.detach();
        }
        let success = run(&fake, Some(old), OPTIONS).await.unwrap();
        assert_eq!(success.gap.is_some(), attached);
        let all = [
            "create",
            "ready new-id",
            "keep old-id",
            "start new-id",
            "remove old-id",
        ];
        assert_eq!(fake.done(), all);
    }
}

#[tokio::test]
async fn a_failed_swap_restores_the_old_one() {
    let fake = FakeRuntime::new(Behaviour::Exits(1, "EXIT: scx_bpf_error (x)\n"));
    let old = fake.old();
    let failure = run(&fake, Some(old), OPTIONS).await.unwrap_err();
    assert_eq!(not_attached(&failure).code(), "BpfError");
    let [Rollback::Restored { scheduler, ops }] = failure.rollback.as_slice() else {
        panic!("{:?}", failure.rollback);
    };
    assert_eq!((scheduler.as_str(), ops.as_str()), ("old", "old"));
    assert_eq!(fake.running().as_deref(), Some("old-id"));
    assert!(fake.done().contains(&"remove new-id".to_owned()));
}

#[tokio::test]
async fn an_old_one_that_cannot_be_removed_is_only_a_leftover() {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    fake.fail("remove", u32::MAX);
    let old = fake.old();
    let success = run(&fake, Some(old), OPTIONS).await.unwrap();
    assert!(matches!(
        success.leftovers.as_slice(),
        [Rollback::Leftover(_)]
    ));
    assert_eq!(fake.running().as_deref(), Some("new-id"));
}
