//! `run --attach` with a fake runtime, and the exit codes.

use std::time::Instant;

use rustix::process::{Signal, getpid, kill_process};
use schedkit_host::HostRoot;
use tokio::signal::unix::SignalKind;
use tokio::time::sleep;

use super::*;
use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
use crate::fixtures::trial;
use crate::interrupt::Interrupted;

fn report(reason: ExitReason) -> Option<SchedulerExit> {
    let message = String::new();
    Some(SchedulerExit { reason, message })
}

#[test]
fn the_unit_is_restarted_after_an_ejection_and_not_after_a_stop() {
    let exit = |ending, code, report: Option<SchedulerExit>| {
        exit(ExitCodes::Unit, ending, code, report.as_ref())
    };
    // 3 and 5 are the scheduler's own here: they must not look like those of schedctl.
    for code in [0, 1, 3, 5, 137].map(ExitCode).map(Some) {
        for ending in [Ending::ByCommand, Ending::Interrupted] {
            assert_eq!(exit(ending, code, report(ExitReason::Stall)), Exit::Ok);
        }
        let ejected = exit(Ending::Unasked, code, report(ExitReason::Stall));
        assert_eq!(ejected, Exit::NotAttached, "{code:?}");
        assert_eq!(exit(Ending::Unasked, code, None), Exit::NotAttached);
    }
    let unregistered = report(ExitReason::Unregistered);
    let own = exit(Ending::Unasked, Some(ExitCode(0)), unregistered.clone());
    assert_eq!(own, Exit::Ok, "somebody sent it a signal");
    let failed = exit(Ending::Unasked, Some(ExitCode(1)), unregistered);
    assert_eq!(failed, Exit::NotAttached);
}

#[test]
fn otherwise_the_exit_code_is_the_schedulers_unless_it_hides_an_ejection() {
    let exit = |ending, code, reason: Option<ExitReason>| {
        let report = reason.and_then(report);
        exit(ExitCodes::Scheduler, ending, code, report.as_ref())
    };
    let stall = || Some(ExitReason::Stall);
    for (ending, code, reason, expected) in [
        (Ending::Unasked, Some(3), None, Exit::Scheduler(3)),
        (Ending::Unasked, Some(3), stall(), Exit::Scheduler(3)),
        (Ending::Unasked, Some(300), None, Exit::Scheduler(255)),
        (Ending::Unasked, Some(0), None, Exit::Scheduler(0)),
        (Ending::Unasked, Some(0), stall(), Exit::NotAttached),
        (Ending::Unasked, None, None, Exit::Failure),
        (Ending::Interrupted, Some(1), None, Exit::Scheduler(1)),
        (Ending::ByCommand, Some(137), None, Exit::Ok),
    ] {
        let found = exit(ending, code.map(ExitCode), reason);
        assert_eq!(found, expected, "{ending:?} {code:?}");
    }
}

const OLD: &str = "old-id";
/// Longer than the command needs to notice something.
const MOMENT: Duration = Duration::from_secs(2);

/// The old scheduler runs, and `run --attach` follows it.
fn running() -> FakeRuntime {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    fake.old();
    fake
}

async fn follow(fake: &FakeRuntime, interrupt: &Interrupt) -> anyhow::Result<Followed> {
    let follow = Follow {
        driver: fake,
        id: &ContainerId::new(OLD),
        scheduler: "old",
        kernel: &KernelMonitor::new(HostRoot::at(fake.path(""))),
        state: &fake.state(),
        service_manager: &ServiceManager::default(),
        target: StdoutTarget::Stderr,
        exit_codes: ExitCodes::Unit,
    };
    follow.run(interrupt).await
}

/// With a signal that no other test of this process listens for.
#[tokio::test]
async fn a_second_signal_kills_the_scheduler_and_its_container_is_removed() {
    let fake = running();
    fake.outlive_sigterm();
    let interrupt = Interrupt::on(Interrupted::Interrupt, SignalKind::user_defined1()).unwrap();
    let signals = async {
        for _ in 0..3 {
            sleep(Duration::from_millis(200)).await;
            kill_process(getpid(), Signal::USR1).unwrap();
        }
    };
    let following = async { interrupt.or(follow(&fake, &interrupt)).await };
    let (followed, ()) = tokio::join!(following, signals);
    assert_eq!(followed.unwrap().exit, Exit::Ok);
    assert_eq!(fake.running(), None);
    let done = ["keep old-id", "keep old-id", "remove old-id"];
    assert_eq!(fake.done(), done);
}

#[tokio::test]
async fn a_scheduler_that_a_failed_switch_starts_again_is_followed_again() {
    let fake = running();
    let interrupt = Interrupt::listen().unwrap();
    let (id, state) = (ContainerId::new(OLD), fake.state());
    let switch = async {
        sleep(MOMENT / 10).await;
        let lock = take_lock(&state).await.unwrap();
        fake.end(&id, GRACE, After::Keep).await.unwrap();
        sleep(MOMENT / 10).await;
        fake.start(&id).await.unwrap();
        drop(lock);
        sleep(MOMENT).await;
        let _lock = take_lock(&state).await.unwrap();
        fake.end(&id, GRACE, After::Remove).await.unwrap();
        Instant::now()
    };
    let following = async {
        let followed = follow(&fake, &interrupt).await.unwrap();
        (followed, Instant::now())
    };
    let ((followed, ended), stopped) = tokio::join!(following, switch);
    assert_eq!(followed.exit, Exit::Ok);
    assert!(ended >= stopped, "it was left when it ran again");
}

#[tokio::test]
async fn a_scheduler_that_comes_back_after_a_trial_is_followed_again() {
    for confirmed in [false, true] {
        let fake = running();
        let interrupt = Interrupt::listen().unwrap();
        let (id, state) = (ContainerId::new(OLD), fake.state());
        let on_trial = async {
            let lock = take_lock(&state).await.unwrap();
            let before = Some(id.clone());
            let trial = Trial {
                before,
                ..trial("new-id")
            };
            trial.save(&state).unwrap();
            fake.end(&id, GRACE, After::Keep).await.unwrap();
            drop(lock);
            sleep(MOMENT).await;
            let lock = take_lock(&state).await.unwrap();
            if confirmed {
                Trial::delete(&state).unwrap();
                let stopped = Instant::now();
                fake.end(&id, GRACE, After::Remove).await.unwrap();
                return stopped;
            }
            fake.start(&id).await.unwrap();
            Trial::delete(&state).unwrap();
            drop(lock);
            sleep(MOMENT).await;
            let _lock = take_lock(&state).await.unwrap();
            fake.end(&id, GRACE, After::Remove).await.unwrap();
            Instant::now()
        };
        let following = async {
            let followed = follow(&fake, &interrupt).await.unwrap();
            (followed, Instant::now())
        };
        let ((followed, ended), stopped) = tokio::join!(following, on_trial);
        assert_eq!(followed.exit, Exit::Ok);
        assert!(
            ended >= stopped,
            "it was left during the trial: {confirmed}"
        );
        assert_eq!(fake.running(), None);
    }
}
