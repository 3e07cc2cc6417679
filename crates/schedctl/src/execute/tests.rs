//! Plans executed with a fake driver on a fake kernel of a few files. The end-to-end tests use a
//! real kernel and real runtimes.

use std::cell::{Cell, RefCell};
use std::fs;

use schedkit_core::PinnedRef;
use schedkit_host::HostRoot;
use schedkit_image::signature::Trusted;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{
    Container, DriverError, ExitCode, Launch, OutputChunk, OutputStream, PullProgress, Pulled,
    Until,
};

use super::*;
use crate::container::RuntimeContainer;
use crate::execute::failure::{NotAttached, NotAttachedReason};
use crate::fixtures::launch;
use crate::kernel::KernelMonitor;
use crate::plan::StartOptions;
use crate::state_dir::StateDir;

const OPTIONS: StartOptions = StartOptions {
    wait: Some(WAIT),
    grace: Duration::from_secs(5),
    trial: None,
};

const WAIT: WaitLimits = WaitLimits {
    attach: Duration::from_secs(5),
    probation: Duration::ZERO,
};

/// What the new scheduler does after its start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Attaches,
    Exits(i32, &'static str),
    Hangs,
    IsEjected(&'static str),
    /// Another scheduler is attached first.
    LosesRace,
    /// Before its state is read.
    IsEjectedAtOnce(&'static str),
    /// By SIGKILL, after which the kernel has counted this many processes killed for memory.
    IsKilled(u64),
}

struct Fake {
    folder: tempfile::TempDir,
    behaviour: Behaviour,
    fails: Option<&'static str>,
    ready_hangs: bool,
    seq: Cell<u64>,
    running: RefCell<Option<String>>,
    done: RefCell<Vec<String>>,
}

impl Fake {
    fn new(behaviour: Behaviour) -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
            behaviour,
            fails: None,
            ready_hangs: false,
            seq: Cell::new(7),
            running: RefCell::new(None),
            done: RefCell::new(Vec::new()),
        };
        fs::create_dir_all(fake.sysfs()).unwrap();
        fake.detach();
        fake.count_oom_kills(3);
        fake
    }

    fn sysfs(&self) -> std::path::PathBuf {
        self.folder.path().join("sys/kernel/sched_ext")
    }

    fn attach(&self, ops: &str) {
        self.seq.set(self.seq.get() + 1);
        fs::create_dir_all(self.sysfs().join("root")).unwrap();
        fs::write(self.sysfs().join("root/ops"), ops).unwrap();
        fs::write(self.sysfs().join("enable_seq"), self.seq.get().to_string()).unwrap();
        fs::write(self.sysfs().join("state"), "enabled").unwrap();
    }

    fn detach(&self) {
        let _ = fs::remove_dir_all(self.sysfs().join("root"));
        fs::write(self.sysfs().join("enable_seq"), self.seq.get().to_string()).unwrap();
        fs::write(self.sysfs().join("state"), "disabled").unwrap();
    }

    fn count_oom_kills(&self, count: u64) {
        let proc = self.folder.path().join("proc");
        fs::create_dir_all(&proc).unwrap();
        fs::write(proc.join("vmstat"), format!("oom_kill {count}\n")).unwrap();
    }

    fn note(&self, what: &str, id: &str) -> Result<(), DriverError> {
        self.done
            .borrow_mut()
            .push(format!("{what} {id}").trim_end().to_owned());
        if self.fails == Some(what) {
            let (runtime, attempt) = (Runtime::Podman, what.to_owned());
            let said = "no".to_owned();
            return Err(DriverError::Refused {
                runtime,
                attempt,
                message: said,
            });
        }
        Ok(())
    }

    fn old(&self) -> RuntimeContainer {
        self.attach("old");
        *self.running.borrow_mut() = Some("old-id".to_owned());
        RuntimeContainer {
            runtime: Runtime::Podman,
            container: container("old-id"),
        }
    }

    async fn run(
        &self,
        replaces: Option<RuntimeContainer>,
        options: StartOptions,
    ) -> Result<Success, Box<PlanFailure>> {
        let plan = Plan::new(&[], replaces.as_ref(), launch(), options);
        let state = StateDir::at(self.folder.path().join("run"));
        let executor = Executor {
            driver: self,
            runtime: Runtime::Podman,
            kernel: &KernelMonitor::new(HostRoot::at(self.folder.path())),
            state: &state,
            start_guard: &|_| match self.fails {
                Some("start guard") => Err(std::io::Error::other("no")),
                _ => Ok(()),
            },
        };
        let interrupt = Interrupt::listen().unwrap();
        execute(&plan, &executor, &interrupt, &mut |_| ()).await
    }

    fn done(&self) -> Vec<String> {
        self.done.borrow().clone()
    }

    fn state(&self) -> StateDir {
        StateDir::at(self.folder.path().join("run"))
    }
}

impl Driver for Fake {
    async fn pull(
        &self,
        _: &Trusted,
        _: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        self.note("pull", "")?;
        Ok(Pulled::Cached)
    }

    async fn has_image(&self, _: &PinnedRef) -> Result<bool, DriverError> {
        unreachable!("a plan starts after the pull")
    }

    async fn create(&self, _: &Launch) -> Result<ContainerId, DriverError> {
        self.note("create", "")?;
        Ok(ContainerId::new("new-id"))
    }

    async fn prepare(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.note("ready", id.as_str())?;
        if self.ready_hangs {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.note("start", id.as_str())?;
        assert_eq!(*self.running.borrow(), None, "two at once");
        match (id.as_str(), self.behaviour) {
            ("old-id", _) => self.attach("old"),
            (_, Behaviour::Attaches | Behaviour::IsEjected(_)) => self.attach("new"),
            (_, Behaviour::LosesRace) => self.attach("foreign"),
            (_, Behaviour::IsEjectedAtOnce(_)) => {
                self.attach("new");
                self.detach();
            }
            (_, Behaviour::Exits(..) | Behaviour::Hangs | Behaviour::IsKilled(_)) => {}
        }
        *self.running.borrow_mut() = Some(id.to_string());
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let running = self.running.borrow();
        Ok(running.iter().map(|id| container(id)).collect())
    }

    async fn output(
        &self,
        id: &ContainerId,
        _: Until,
        take: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let mut write = |text: &str| {
            let (stream, bytes) = (OutputStream::Stderr, text.as_bytes());
            take(OutputChunk { stream, bytes });
        };
        match self.behaviour {
            Behaviour::Exits(code, text) if id.as_str() == "new-id" => {
                write(text);
                Ok(Some(ExitCode(code)))
            }
            Behaviour::IsEjectedAtOnce(text) if id.as_str() == "new-id" => {
                write(text);
                Ok(Some(ExitCode(1)))
            }
            Behaviour::IsKilled(count) if id.as_str() == "new-id" => {
                self.count_oom_kills(count);
                write("loading\n");
                Ok(Some(ExitCode(137)))
            }
            Behaviour::Hangs if id.as_str() == "new-id" => {
                write("loading the program\n");
                std::future::pending().await
            }
            Behaviour::LosesRace if id.as_str() == "new-id" => {
                // Long enough for the other scheduler to be read twice.
                tokio::time::sleep(Duration::from_secs(2)).await;
                write("Error: another sched_ext scheduler is already running\n");
                Ok(Some(ExitCode(1)))
            }
            Behaviour::IsEjected(text) if id.as_str() == "new-id" => {
                // Long enough for the attach to be read.
                tokio::time::sleep(Duration::from_millis(600)).await;
                self.detach();
                tokio::time::sleep(Duration::from_millis(600)).await;
                write(text);
                Ok(Some(ExitCode(1)))
            }
            _ => std::future::pending().await,
        }
    }

    async fn end(&self, id: &ContainerId, _: Duration, after: After) -> Result<(), DriverError> {
        self.note(&format!("{after:?}").to_lowercase(), id.as_str())?;
        if self.running.borrow().as_deref() == Some(id.as_str()) {
            self.running.take();
            self.detach();
            // The kernel has detached it, and the runtime is still cleaning up.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// The container `old-id` has the name `old`.
fn container(id: &str) -> Container {
    let name = id.trim_end_matches("-id");
    Container {
        id: ContainerId::new(id),
        name: name.to_owned(),
        ownership: schedkit_runtime::Ownership::Ours,
        record: schedkit_runtime::Record::default(),
        image: format!("x.example/{name}"),
        image_id: None,
        state: schedkit_runtime::ContainerState::Running {
            pid: 1,
            started: None,
        },
    }
}

fn not_attached(failure: &PlanFailure) -> &NotAttached {
    match &failure.cause {
        FailureCause::NotAttached(not_attached) => not_attached,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_scheduler_that_is_attached_is_a_success() {
    let fake = Fake::new(Behaviour::Attaches);
    let success = fake.run(None, OPTIONS).await.unwrap();
    assert_eq!(success.attachment.as_ref().unwrap().ops.as_str(), "new");
    assert_eq!(success.attachment.unwrap().enable_seq, Some(8));
    assert_eq!(success.gap, None);
    assert_eq!(fake.done(), ["create", "start new-id"]);
}

#[tokio::test]
async fn a_scheduler_that_exits_first_is_removed_and_its_reason_reported() {
    let text = "Error: another sched_ext scheduler is already running\n";
    let fake = Fake::new(Behaviour::Exits(1, text));
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
    let found = not_attached(&failure);
    assert_eq!(found.reason, NotAttachedReason::Exited(Some(ExitCode(1))));
    assert_eq!(found.code(), "LoadFailedBusy");
    assert_eq!(found.last_lines, [text.trim()]);
    assert_eq!(fake.done(), ["create", "start new-id", "remove new-id"]);
}

#[tokio::test]
async fn with_no_wait_it_is_only_started() {
    let fake = Fake::new(Behaviour::Hangs);
    let options = StartOptions {
        wait: None,
        ..OPTIONS
    };
    let success = fake.run(None, options).await.unwrap();
    assert_eq!(success.attachment, None);
    assert_eq!(fake.done(), ["create", "start new-id"]);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_hangs_is_a_timeout() {
    let fake = Fake::new(Behaviour::Hangs);
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
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
async fn one_that_the_kernel_killed_for_memory_is_told_from_one_that_somebody_killed() {
    let fake = Fake::new(Behaviour::IsKilled(4));
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
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
    let fake = Fake::new(Behaviour::IsKilled(3));
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
    assert_eq!(not_attached(&failure).code(), "Unknown");
}

#[tokio::test]
async fn without_tracefs_the_failure_has_the_remedy() {
    let text = "thread 'main' (7) panicked at src/main.rs:237:44:\n\
                called `Result::unwrap()` on an `Err` value: No debugfs mount found\n\
                note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    let fake = Fake::new(Behaviour::Exits(101, text));
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
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
async fn a_failed_create_or_ready_keeps_the_old_one_running() {
    for (fails, done) in [
        ("create", &["create"][..]),
        ("ready", &["create", "ready new-id", "remove new-id"]),
    ] {
        let mut fake = Fake::new(Behaviour::Attaches);
        fake.fails = Some(fails);
        let old = fake.old();
        let failure = fake.run(Some(old), OPTIONS).await.unwrap_err();
        assert!(matches!(failure.cause, FailureCause::Driver(_)));
        assert_eq!(fake.done(), done);
        assert_eq!(fake.running.borrow().as_deref(), Some("old-id"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_one_that_blocks_the_runtime_is_still_replaced() {
    let mut fake = Fake::new(Behaviour::Attaches);
    fake.ready_hangs = true;
    let old = fake.old();
    fake.run(Some(old), OPTIONS).await.unwrap();
    assert_eq!(fake.running.borrow().as_deref(), Some("new-id"));
}

#[tokio::test]
async fn a_swap_stops_the_old_one_before_the_new_one_starts() {
    for attached in [true, false] {
        let fake = Fake::new(Behaviour::Attaches);
        let old = fake.old();
        if !attached {
            fake.detach();
        }
        let success = fake.run(Some(old), OPTIONS).await.unwrap();
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
    let fake = Fake::new(Behaviour::Exits(1, "EXIT: scx_bpf_error (x)\n"));
    let old = fake.old();
    let failure = fake.run(Some(old), OPTIONS).await.unwrap_err();
    assert_eq!(not_attached(&failure).code(), "BpfError");
    let [Rollback::Restored { scheduler, ops }] = failure.rollback.as_slice() else {
        panic!("{:?}", failure.rollback);
    };
    assert_eq!((scheduler.as_str(), ops.as_str()), ("old", "old"));
    assert_eq!(fake.running.borrow().as_deref(), Some("old-id"));
    assert!(fake.done().contains(&"remove new-id".to_owned()));
}

#[tokio::test]
async fn an_ejection_during_the_probation_is_a_failure() {
    let fake = Fake::new(Behaviour::IsEjected("EXIT: runnable task stall (x)\n"));
    let old = fake.old();
    let probation = Duration::from_secs(20);
    let wait = Some(WaitLimits { probation, ..WAIT });
    let failure = fake
        .run(Some(old), StartOptions { wait, ..OPTIONS })
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
    let fake = Fake::new(Behaviour::LosesRace);
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
    let found = not_attached(&failure);
    assert_eq!(found.reason, NotAttachedReason::Exited(Some(ExitCode(1))));
    assert_eq!(found.code(), "LoadFailedBusy");
    assert_eq!(found.holder.as_ref().unwrap().as_str(), "foreign");
}

#[tokio::test]
async fn an_ejection_before_the_state_is_read_is_detected() {
    let fake = Fake::new(Behaviour::IsEjectedAtOnce("EXIT: scx_bpf_error (x)\n"));
    let failure = fake.run(None, OPTIONS).await.unwrap_err();
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
async fn a_trial_keeps_the_old_container_and_is_saved() {
    let fake = Fake::new(Behaviour::Attaches);
    let old = fake.old();
    let trial = Some(Duration::from_secs(600));
    let success = fake
        .run(Some(old), StartOptions { trial, ..OPTIONS })
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
    let fake = Fake::new(Behaviour::Exits(1, ""));
    let trial = Some(Duration::from_secs(600));
    fake.run(None, StartOptions { trial, ..OPTIONS })
        .await
        .unwrap_err();
    assert_eq!(Trial::read(&fake.state()).unwrap(), None);
}

#[tokio::test]
async fn an_old_one_that_cannot_be_removed_is_only_a_leftover() {
    let mut fake = Fake::new(Behaviour::Attaches);
    fake.fails = Some("remove");
    let old = fake.old();
    let success = fake.run(Some(old), OPTIONS).await.unwrap();
    assert!(matches!(
        success.leftovers.as_slice(),
        [Rollback::Leftover(_)]
    ));
    assert_eq!(fake.running.borrow().as_deref(), Some("new-id"));
}

#[tokio::test]
async fn the_trial_is_kept_when_the_candidate_cannot_be_removed() {
    let mut fake = Fake::new(Behaviour::Exits(1, ""));
    fake.fails = Some("remove");
    let trial = Some(Duration::from_secs(600));
    let failure = fake
        .run(None, StartOptions { trial, ..OPTIONS })
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
    let mut fake = Fake::new(Behaviour::Attaches);
    fake.fails = Some("start guard");
    let old = fake.old();
    let trial = Some(Duration::from_secs(600));
    let failure = fake.run(Some(old), StartOptions { trial, ..OPTIONS }).await;
    assert!(matches!(failure.unwrap_err().cause, FailureCause::Guard(_)));
    assert_eq!(Trial::read(&fake.state()).unwrap(), None);
    assert_eq!(fake.running.borrow().as_deref(), Some("old-id"));
    assert_eq!(fake.done(), ["create", "ready new-id", "remove new-id"]);
}
