//! A scheduler on trial, and its guard.

use super::*;

#[tokio::test]
async fn a_trial_keeps_the_old_container_and_is_saved() {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    let old = fake.old();
    let trial = Some(Duration::from_secs(600));
    let success = run(&fake, Some(old), StartOptions { trial, ..OPTIONS })
        .await
        .unwrap();
    let trial = Trial::read(&fake.state()).unwrap().unwrap();
    assert_eq!(success.trial_until, Some(trial.until));
    let enable_seq = success.attachment.unwrap().enable_seq;
    assert_eq!(trial.stage, Stage::Begun { enable_seq });
    assert_eq!(trial.before, Some(ContainerId::new("old-id")));
    assert!(!fake.done().contains(&"remove old-id".to_owned()));
}

#[tokio::test]
async fn a_trial_that_never_began_is_deleted() {
    let fake = FakeRuntime::new(Behaviour::Exits(1, ""));
    let trial = Some(Duration::from_secs(600));
    run(&fake, None, StartOptions { trial, ..OPTIONS })
        .await
        .unwrap_err();
    assert_eq!(Trial::read(&fake.state()).unwrap(), None);
}

#[tokio::test]
async fn the_trial_is_kept_when_the_candidate_cannot_be_removed() {
    let fake = FakeRuntime::new(Behaviour::Exits(1, ""));
    fake.fail("remove", u32::MAX);
    let trial = Some(Duration::from_secs(600));
    let failure = run(&fake, None, StartOptions { trial, ..OPTIONS })
        .await
        .unwrap_err();
    assert!(matches!(
        failure.rollback.as_slice(),
        [Rollback::Leftover(_)]
    ));
    assert!(Trial::read(&fake.state()).unwrap().is_some());
}

#[tokio::test]
async fn without_a_guard_there_is_no_trial_and_the_old_one_keeps_running() {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    fake.fail("start guard", u32::MAX);
    let old = fake.old();
    let trial = Some(Duration::from_secs(600));
    let failure = run(&fake, Some(old), StartOptions { trial, ..OPTIONS }).await;
    assert!(matches!(failure.unwrap_err().cause, FailureCause::Guard(_)));
    assert_eq!(Trial::read(&fake.state()).unwrap(), None);
    assert_eq!(fake.running().as_deref(), Some("old-id"));
    assert_eq!(fake.done(), ["create", "ready new-id", "remove new-id"]);
}
