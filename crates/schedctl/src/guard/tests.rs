//! The guard with a fake driver on a fake kernel of a few files, and with a clock that jumps from
//! one timer to the next.

use std::cell::{Cell, RefCell};
use std::fs;

use jiff::Timestamp;
use schedkit_core::PinnedRef;
use schedkit_host::HostRoot;
use schedkit_image::signature::Trusted;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{
    Container, DriverError, ExitCode, Launch, OutputChunk, PullProgress, Pulled, Until,
};
use tokio::time::timeout;

use super::*;
use crate::fixtures::{runtime_container, trial};

const CANDIDATE: &str = "new-id";
const OLD: &str = "old-id";
/// Long enough for the longest pause between two attempts, several times.
const LONG: Duration = Duration::from_secs(600);

/// A runtime with the containers `new-id` and `old-id`.
struct Fake {
    folder: tempfile::TempDir,
    failing_starts: Cell<u32>,
    failing_removals: Cell<u32>,
    has_old: Cell<bool>,
    old_runs: Cell<bool>,
    done: RefCell<Vec<String>>,
}

impl Fake {
    fn new() -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
            failing_starts: Cell::new(0),
            failing_removals: Cell::new(0),
            has_old: Cell::new(true),
            old_runs: Cell::new(false),
            done: RefCell::default(),
        };
        fs::create_dir_all(fake.path("sys/kernel/sched_ext/root")).unwrap();
        fs::create_dir_all(fake.path("proc")).unwrap();
        fake.attach("new", 7);
        fake
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn attach(&self, ops: &str, seq: u64) {
        let sysfs = self.path("sys/kernel/sched_ext");
        fs::write(sysfs.join("root/ops"), ops).unwrap();
        fs::write(sysfs.join("enable_seq"), seq.to_string()).unwrap();
        fs::write(sysfs.join("state"), "enabled").unwrap();
    }

    fn detach(&self) {
        fs::write(self.path("sys/kernel/sched_ext/state"), "disabled").unwrap();
    }

    fn state(&self) -> StateDir {
        StateDir::at(self.path("run"))
    }

    /// A trial that is over, or is not, by the time since the boot.
    fn try_out(&self, deadline: Duration, until: Timestamp) {
        let trial = Trial {
            before: Some(ContainerId::new(OLD)),
            deadline,
            until,
            stage: Stage::Begun {
                enable_seq: Some(7),
            },
            ..trial(CANDIDATE)
        };
        trial.save(&self.state()).unwrap();
    }

    async fn watch(&self) -> TrialEnd {
        let (state, root) = (self.state(), HostRoot::at(self.folder.path()));
        let executor = Executor {
            driver: self,
            runtime: Runtime::Podman,
            kernel: &KernelMonitor::new(root),
            state: &state,
            start_guard: &|_| Ok(()),
        };
        watch(&executor, &ContainerId::new(CANDIDATE)).await
    }

    fn trial(&self) -> Option<Trial> {
        Trial::read(&self.state()).unwrap()
    }

    fn count(&self, what: &str) -> usize {
        self.done.borrow().iter().filter(|one| *one == what).count()
    }

    fn note(&self, what: &str, failing: &Cell<u32>) -> Result<(), DriverError> {
        self.done.borrow_mut().push(what.to_owned());
        let Some(left) = failing.get().checked_sub(1) else {
            return Ok(());
        };
        failing.set(left);
        Err(DriverError::Refused {
            runtime: Runtime::Podman,
            attempt: what.to_owned(),
            message: "no space left".to_owned(),
        })
    }
}

impl Driver for Fake {
    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let mut old = runtime_container(Runtime::Podman, OLD, "scx_old").container;
        if !self.old_runs.get() {
            old.state = schedkit_runtime::ContainerState::Exited(ExitCode(0));
        }
        Ok(self.has_old.get().then_some(old).into_iter().collect())
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.note(&format!("start {id}"), &self.failing_starts)?;
        self.old_runs.set(true);
        self.attach("old", 8);
        Ok(())
    }

    async fn output(
        &self,
        _: &ContainerId,
        _: Until,
        _: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        std::future::pending().await
    }

    async fn end(&self, id: &ContainerId, _: Duration, after: After) -> Result<(), DriverError> {
        if after == After::Remove {
            self.note(&format!("remove {id}"), &self.failing_removals)?;
            self.detach();
        }
        Ok(())
    }

    async fn pull(
        &self,
        _: &Trusted,
        _: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        unreachable!("a guard does not pull")
    }

    async fn has_image(&self, _: &PinnedRef) -> Result<bool, DriverError> {
        unreachable!("a guard asks for no image")
    }

    async fn create(&self, _: &Launch) -> Result<ContainerId, DriverError> {
        unreachable!("a guard creates nothing")
    }

    async fn prepare(&self, _: &ContainerId) -> Result<(), DriverError> {
        unreachable!("a guard prepares nothing")
    }
}

#[tokio::test(start_paused = true)]
async fn going_back_is_tried_again_until_it_works() {
    let fake = Fake::new();
    fake.try_out(Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.failing_removals.set(1);
    fake.failing_starts.set(2);
    let end = fake.watch().await;
    let TrialEnd::Restored(Some(attachment)) = &end else {
        panic!("{end:?}");
    };
    assert_eq!(attachment.ops.as_str(), "old");
    assert_eq!(fake.count("remove new-id"), 4);
    assert_eq!(fake.count("start old-id"), 3);
    assert_eq!(fake.trial(), None);
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_are_noted_and_commands_may_end_the_trial_in_between() {
    let fake = Fake::new();
    fake.try_out(Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.failing_starts.set(u32::MAX);
    timeout(LONG, fake.watch()).await.unwrap_err();
    let attempts = fake.count("start old-id");
    assert!((10..40).contains(&attempts), "{attempts}");
    let failed = fake.trial().unwrap().failed.unwrap();
    assert_eq!(failed.attempts as usize, attempts);
    assert!(failed.error.contains("no space left"), "{failed:?}");
    assert!(fake.state().try_lock().unwrap().is_some());
    // As `stop` and `confirm` do.
    Trial::delete(&fake.state()).unwrap();
    let end = timeout(LONG, fake.watch()).await.unwrap();
    assert!(matches!(end, TrialEnd::ByCommand), "{end:?}");
}

/// The clock of the machine may be set; the time since the boot counts.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_neither_ends_nor_extends_a_trial() {
    let fake = Fake::new();
    fake.try_out(Duration::MAX, Timestamp::UNIX_EPOCH);
    timeout(LONG, fake.watch()).await.unwrap_err();
    assert_eq!(*fake.done.borrow(), Vec::<String>::new());
    fake.try_out(Duration::ZERO, Timestamp::MAX);
    let end = timeout(LONG, fake.watch()).await.unwrap();
    assert!(matches!(end, TrialEnd::Restored(Some(_))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn without_the_old_container_there_is_nothing_to_try_again() {
    let fake = Fake::new();
    fake.try_out(Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.has_old.set(false);
    let end = timeout(LONG, fake.watch()).await.unwrap();
    assert!(matches!(end, TrialEnd::NothingToRestore), "{end:?}");
    assert_eq!(fake.trial(), None);
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_the_runtime_does_not_stop_is_detached_by_the_kernel() {
    let fake = Fake::new();
    fake.try_out(Duration::ZERO, Timestamp::UNIX_EPOCH);
    fake.failing_removals.set(u32::MAX);
    timeout(LONG, fake.watch()).await.unwrap_err();
    let written = fs::read_to_string(fake.path("proc/sysrq-trigger")).unwrap();
    assert_eq!(written, "S");
    assert_eq!(fake.count("start old-id"), 0);
}
