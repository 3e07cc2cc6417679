//! One scheduler is started: the kernel attaches it, or why not.

use super::*;

#[tokio::test]
async fn a_scheduler_that_is_attached_is_a_success() {
    let fake = FakeRuntime::new(Behaviour::Attaches);
    let success = run(&fake, None, OPTIONS).await.unwrap();
    assert_eq!(success.attachment.as_ref().unwrap().ops.as_str(), "new");
    assert_eq!(success.attachment.unwrap().enable_seq, Some(8));
    assert_eq!(success.gap, None);
    assert_eq!(fake.done(), ["create", "start new-id"]);
}

#[tokio::test]
async fn a_scheduler_that_exits_first_is_removed_and_its_reason_reported() {
    let text = "Error: another sched_ext scheduler is already running\n";
    let fake = FakeRuntime::new(Behaviour::Exits(1, text));
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    let found = not_attached(&failure);
    assert_eq!(found.reason, NotAttachedReason::Exited(Some(ExitCode(1))));
    assert_eq!(found.code(), "LoadFailedBusy");
    assert_eq!(found.last_lines, [text.trim()]);
    assert_eq!(fake.done(), ["create", "start new-id", "remove new-id"]);
}

#[tokio::test]
async fn with_no_wait_it_is_only_started() {
    let fake = FakeRuntime::new(Behaviour::Hangs);
    let options = StartOptions {
        wait: None,
        ..OPTIONS
    };
    let success = run(&fake, None, options).await.unwrap();
    assert_eq!(success.attachment, None);
    assert_eq!(fake.done(), ["create", "start new-id"]);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_hangs_is_a_timeout() {
    let fake = FakeRuntime::new(Behaviour::Hangs);
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    assert_eq!(not_attached(&failure).code(), "Timeout");
    assert_eq!(
        failure.to_string(),
        "the kernel did not attach the scheduler within 5s: its process runs, the kernel's state is \
         disabled, its last output is: loading the program"
    );
    let remedy = not_attached(&failure).remedy().unwrap();
    assert!(remedy.contains("--timeout 10s"), "{remedy}");
    assert_eq!(fake.done().last().unwrap(), "remove new-id");
}

#[tokio::test]
async fn without_tracefs_the_failure_has_the_remedy() {
    let text = "thread 'main' (7) panicked at src/main.rs:237:44:\n\
                called `Result::unwrap()` on an `Err` value: No debugfs mount found\n\
                note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    let fake = FakeRuntime::new(Behaviour::Exits(101, text));
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    let found = not_attached(&failure);
    assert_eq!(found.code(), "LoadFailedTracefs");
    let remedy = found.remedy().unwrap();
    assert!(
        remedy.contains("mount -t tracefs tracefs /sys/kernel/tracing"),
        "{remedy}"
    );
    assert!(
        found
            .last_lines
            .last()
            .unwrap()
            .contains("No debugfs mount found")
    );
}

#[tokio::test]
async fn an_ejection_during_the_probation_is_a_failure() {
    let fake = FakeRuntime::new(Behaviour::IsEjected("EXIT: runnable task stall (x)\n"));
    let old = fake.old();
    let probation = Duration::from_secs(20);
    let wait = Some(WaitLimits { probation, ..WAIT });
    let failure = run(&fake, Some(old), StartOptions { wait, ..OPTIONS })
        .await
        .unwrap_err();
    let found = not_attached(&failure);
    assert!(
        matches!(found.reason, NotAttachedReason::Ejected { .. }),
        "{:?}",
        found.reason
    );
    assert_eq!(found.code(), "Stall");
    assert!(matches!(failure.rollback[0], Rollback::Restored { .. }));
}

#[tokio::test(start_paused = true)]
async fn another_attached_scheduler_is_not_taken_for_ours() {
    let fake = FakeRuntime::new(Behaviour::LosesRace);
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    let found = not_attached(&failure);
    assert_eq!(found.reason, NotAttachedReason::Exited(Some(ExitCode(1))));
    assert_eq!(found.code(), "LoadFailedBusy");
    assert_eq!(found.holder.as_ref().unwrap().as_str(), "foreign");
}

#[tokio::test]
async fn an_ejection_before_the_state_is_read_is_detected() {
    let fake = FakeRuntime::new(Behaviour::IsEjectedAtOnce("EXIT: scx_bpf_error (x)\n"));
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    let code = Some(ExitCode(1));
    let found = not_attached(&failure);
    assert_eq!(found.reason, NotAttachedReason::Ejected { ops: None, code });
    assert!(
        failure
            .to_string()
            .starts_with("the kernel attached the scheduler, then ejected it")
    );
}

#[tokio::test]
async fn one_that_the_kernel_killed_for_memory_is_told_from_one_that_somebody_killed() {
    let fake = FakeRuntime::new(Behaviour::IsKilled(4));
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    assert_eq!(not_attached(&failure).code(), "OutOfMemory");
    assert_eq!(
        failure.to_string(),
        "the scheduler exited with code 137 before the kernel attached it: the kernel killed it \
         because memory was short"
    );
    assert!(
        not_attached(&failure)
            .remedy()
            .unwrap()
            .contains("free memory")
    );
    let fake = FakeRuntime::new(Behaviour::IsKilled(3));
    let failure = run(&fake, None, OPTIONS).await.unwrap_err();
    assert_eq!(not_attached(&failure).code(), "Unknown");
}
