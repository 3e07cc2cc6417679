//! The guard with a fake runtime on a fake kernel, and with a clock that jumps from one timer to the
//! next.

use std::fs;
use std::process::Command;

use jiff::Timestamp;
use tokio::time::timeout;

use super::*;
use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
use crate::fixtures::trial;

const CANDIDATE: &str = "new-id";
const OLD: &str = "old-id";
/// Long enough for the longest pause between two attempts, several times.
const LONG: Duration = Duration::from_secs(600);

fn on_trial() -> FakeRuntime {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    fake.try_new();
    fake
}

/// A trial that is over, or is not, by the time since the boot.
fn try_out(fake: &FakeRuntime, deadline: Duration, until: Timestamp) {
    let trial = Trial {
        before: Some(ContainerId::new(OLD)),
        deadline,
        until,
        stage: Stage::Begun {
            enable_seq: Some(fake.enable_seq()),
        },
        ..trial(CANDIDATE)
    };
    trial.save(&fake.state()).unwrap();
}

async fn watch_over(fake: &FakeRuntime) -> TrialEnd {
    let candidate = ContainerId::new(CANDIDATE);
    fake.with_executor(async |executor| watch(executor, &candidate).await)
        .await
}

fn trial_of(fake: &FakeRuntime) -> Option<Trial> {
    Trial::read(&fake.state()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn going_back_is_tried_again_until_it_works() {
    let fake = on_trial();
    try_out(&fake, Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.fail("remove", 1);
    fake.fail("start", 2);
    let end = watch_over(&fake).await;
    let TrialEnd::Restored(Some(attachment)) = &end else {
        panic!("{end:?}");
    };
    assert_eq!(attachment.ops.as_str(), "old");
    assert_eq!(fake.count("remove new-id"), 4);
    assert_eq!(fake.count("start old-id"), 3);
    assert_eq!(trial_of(&fake), None);
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_are_noted_and_commands_may_end_the_trial_in_between() {
    let fake = on_trial();
    try_out(&fake, Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.fail("start", u32::MAX);
    timeout(LONG, watch_over(&fake)).await.unwrap_err();
    let attempts = fake.count("start old-id");
    assert!((10..40).contains(&attempts), "{attempts}");
    let failed = trial_of(&fake).unwrap().failed.unwrap();
    assert_eq!(failed.attempts as usize, attempts);
    assert!(failed.error.contains("no space left"), "{failed:?}");
    assert!(fake.state().try_lock().unwrap().is_some());
    // As `stop` and `confirm` do.
    Trial::delete(&fake.state()).unwrap();
    let end = timeout(LONG, watch_over(&fake)).await.unwrap();
    assert!(matches!(end, TrialEnd::ByCommand), "{end:?}");
}

/// The clock of the machine may be set; the time since the boot counts.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_neither_ends_nor_extends_a_trial() {
    let fake = on_trial();
    try_out(&fake, Duration::MAX, Timestamp::UNIX_EPOCH);
    timeout(LONG, watch_over(&fake)).await.unwrap_err();
    assert_eq!(fake.done(), Vec::<String>::new());
    try_out(&fake, Duration::ZERO, Timestamp::MAX);
    let end = timeout(LONG, watch_over(&fake)).await.unwrap();
    assert!(matches!(end, TrialEnd::Restored(Some(_))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn without_the_old_container_there_is_nothing_to_try_again() {
    let fake = on_trial();
    try_out(&fake, Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.forget_exited();
    let end = timeout(LONG, watch_over(&fake)).await.unwrap();
    assert!(matches!(end, TrialEnd::NothingToRestore), "{end:?}");
    assert_eq!(trial_of(&fake), None);
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_the_runtime_does_not_stop_is_detached_by_the_kernel() {
    let fake = on_trial();
    try_out(&fake, Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.fail("remove", u32::MAX);
    timeout(LONG, watch_over(&fake)).await.unwrap_err();
    let written = fs::read_to_string(fake.path("proc/sysrq-trigger")).unwrap();
    assert_eq!(written, "S");
    assert_eq!(fake.count("start old-id"), 0);
}

#[tokio::test]
async fn a_suspended_command_that_holds_the_lock_is_continued() {
    let fake = on_trial();
    try_out(&fake, Duration::ZERO, Timestamp::UNIX_EPOCH);
    let lock = fake.state().try_lock().unwrap().unwrap();
    let mut suspended = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = suspended.id();
    fs::write(fake.path("run/lock"), pid.to_string()).unwrap();
    let raw = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(raw, Signal::STOP).unwrap();
    let command = async {
        for wanted in [true, false] {
            for _ in 0..200 {
                if is_suspended(pid) == wanted {
                    break;
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
        let continued = !is_suspended(pid);
        suspended.kill().unwrap();
        suspended.wait().unwrap();
        drop(lock);
        continued
    };
    let (end, continued) = tokio::join!(watch_over(&fake), command);
    assert!(continued);
    assert!(matches!(end, TrialEnd::Restored(Some(_))), "{end:?}");
}
