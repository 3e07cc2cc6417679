//! Plans against a machine of folders: its driver's processes attach to a kernel that is a few
//! files. What a real kernel and real runtimes do is shown in the end-to-end tests.

use std::cell::{Cell, RefCell};
use std::fs;

use schedkit_host::HostRoot;
use schedkit_image::signature::{Trusted, waive};
use schedkit_runtime::{
    Container, DriverError, ExitCode, Launch, OutputChunk, OutputStream, PullProgress, Pulled,
    Until,
};

use super::*;
use crate::execute::failure::Why;
use crate::output::judged;
use crate::output::started::Planned;
use crate::plan::{Stay, Terms};
use crate::status::Held;

const TERMS: Terms = Terms {
    wait: Some(WAIT),
    grace: Duration::from_secs(5),
    stay: Stay::ForGood,
};

const WAIT: Wait = Wait {
    attach: Duration::from_secs(5),
    probation: Duration::ZERO,
};

/// What the new scheduler does once it is started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Attaches,
    Ends(i32, &'static str),
    Hangs,
    IsEjected(&'static str),
    /// Somebody else is quicker.
    IsBeaten,
    /// The kernel takes it and throws it out before anybody looks.
    Flashes(&'static str),
}

struct Fake {
    folder: tempfile::TempDir,
    conduct: Conduct,
    refuses: Option<&'static str>,
    starves: bool,
    seq: Cell<u64>,
    running: RefCell<Option<String>>,
    done: RefCell<Vec<String>>,
}

impl Fake {
    fn new(conduct: Conduct) -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
            conduct,
            refuses: None,
            starves: false,
            seq: Cell::new(7),
            running: RefCell::new(None),
            done: RefCell::new(Vec::new()),
        };
        fs::create_dir_all(fake.sysfs()).unwrap();
        fake.detach();
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

    fn note(&self, what: &str, id: &str) -> Result<(), DriverError> {
        self.done
            .borrow_mut()
            .push(format!("{what} {id}").trim_end().to_owned());
        if self.refuses == Some(what) {
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

    fn old(&self) -> Held {
        self.attach("old");
        *self.running.borrow_mut() = Some("old-id".to_owned());
        Held {
            runtime: Runtime::Podman,
            container: container("old-id"),
        }
    }

    async fn run(&self, replaces: Option<Held>, terms: Terms) -> Result<Success, Box<Failure>> {
        let plan = Plan::new(&[], replaces.as_ref(), launch(), terms);
        let state = StateDir::at(self.folder.path().join("run"));
        let machine = Machine {
            driver: self,
            runtime: Runtime::Podman,
            kernel: &Kernel::of(HostRoot::at(self.folder.path())),
            state: &state,
            stand_by: &|_| match self.refuses {
                Some("stand by") => Err(std::io::Error::other("no")),
                _ => Ok(()),
            },
        };
        let mut interrupt = Interrupt::listen().unwrap();
        execute(&plan, &machine, &mut interrupt, &mut |_| ()).await
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

    async fn create(&self, _: &Launch) -> Result<ContainerId, DriverError> {
        self.note("create", "")?;
        Ok(ContainerId::new("new-id"))
    }

    async fn ready(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.note("ready", id.as_str())?;
        if self.starves {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.note("start", id.as_str())?;
        assert_eq!(*self.running.borrow(), None, "two at once");
        match (id.as_str(), self.conduct) {
            ("old-id", _) => self.attach("old"),
            (_, Conduct::Attaches | Conduct::IsEjected(_)) => self.attach("new"),
            (_, Conduct::IsBeaten) => self.attach("stranger"),
            (_, Conduct::Flashes(_)) => {
                self.attach("new");
                self.detach();
            }
            (_, Conduct::Ends(..) | Conduct::Hangs) => {}
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
        let mut say = |text: &str| {
            let (stream, bytes) = (OutputStream::Stderr, text.as_bytes());
            take(OutputChunk { stream, bytes });
        };
        match self.conduct {
            Conduct::Ends(code, text) if id.as_str() == "new-id" => {
                say(text);
                Ok(Some(ExitCode(code)))
            }
            Conduct::Flashes(text) if id.as_str() == "new-id" => {
                say(text);
                Ok(Some(ExitCode(1)))
            }
            Conduct::IsBeaten if id.as_str() == "new-id" => {
                // Long enough for the stranger to be seen, and to be seen again.
                tokio::time::sleep(Duration::from_secs(2)).await;
                say("Error: another sched_ext scheduler is already running\n");
                Ok(Some(ExitCode(1)))
            }
            Conduct::IsEjected(text) if id.as_str() == "new-id" => {
                // Long enough for the kernel's first word to be seen.
                tokio::time::sleep(Duration::from_millis(600)).await;
                self.detach();
                tokio::time::sleep(Duration::from_millis(600)).await;
                say(text);
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
            // The kernel has let go, and the runtime is not done yet.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// The id tells the name: `old-id` is `old`.
fn container(id: &str) -> Container {
    let name = id.trim_end_matches("-id");
    Container {
        id: ContainerId::new(id),
        name: name.to_owned(),
        record: schedkit_runtime::Record::default(),
        image: format!("x.example/{name}"),
        image_id: None,
        state: schedkit_runtime::ContainerState::Running {
            pid: 1,
            started: None,
        },
    }
}

fn launch() -> Launch {
    let digest = format!("sha256:{}", "a".repeat(64));
    let image = format!("example.org/new@{digest}")
        .parse::<schedkit_core::ImageRef>()
        .unwrap();
    let digest = digest.parse().unwrap();
    let pinned = schedkit_core::PinnedRef::new(image.repository().clone(), digest);
    let trusted = waive(pinned, "a test").into();
    Launch::new("new".to_owned(), image, trusted, Vec::new()).unwrap()
}

fn not_attached(failure: &Failure) -> &NotAttached {
    match &failure.cause {
        Cause::NotAttached(not_attached) => not_attached,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_scheduler_that_attaches_is_success_and_written_down() {
    let fake = Fake::new(Conduct::Attaches);
    let success = fake.run(None, TERMS).await.unwrap();
    assert_eq!(success.taken.as_ref().unwrap().ops.as_str(), "new");
    assert_eq!(success.taken.unwrap().enable_seq, Some(8));
    assert_eq!(success.gap, None);
    assert_eq!(fake.done(), ["create", "start new-id"]);
}

#[tokio::test]
async fn a_scheduler_that_ends_first_is_removed_and_its_reason_told() {
    let text = "Error: another sched_ext scheduler is already running\n";
    let fake = Fake::new(Conduct::Ends(1, text));
    let failure = fake.run(None, TERMS).await.unwrap_err();
    let told = not_attached(&failure);
    assert_eq!(told.why, Why::Exited(Some(ExitCode(1))));
    assert_eq!(told.word(), "LoadFailedBusy");
    assert_eq!(told.lines, [text.trim()]);
    assert_eq!(fake.done(), ["create", "start new-id", "remove new-id"]);
}

#[tokio::test]
async fn without_waiting_it_is_only_started() {
    let fake = Fake::new(Conduct::Hangs);
    let terms = Terms {
        wait: None,
        ..TERMS
    };
    let success = fake.run(None, terms).await.unwrap();
    assert_eq!(success.taken, None);
    assert_eq!(fake.done(), ["create", "start new-id"]);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_hangs_is_given_up() {
    let fake = Fake::new(Conduct::Hangs);
    let failure = fake.run(None, TERMS).await.unwrap_err();
    assert_eq!(not_attached(&failure).word(), "Timeout");
    assert_eq!(fake.done().last().unwrap(), "remove new-id");
}

#[tokio::test]
async fn what_cannot_be_made_or_made_ready_leaves_the_old_one_alone() {
    for (refuses, done) in [
        ("create", &["create"][..]),
        ("ready", &["create", "ready new-id", "remove new-id"]),
    ] {
        let mut fake = Fake::new(Conduct::Attaches);
        fake.refuses = Some(refuses);
        let old = fake.old();
        let failure = fake.run(Some(old), TERMS).await.unwrap_err();
        assert!(matches!(failure.cause, Cause::Driver(_)));
        assert_eq!(fake.done(), done);
        assert_eq!(fake.running.borrow().as_deref(), Some("old-id"));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_starves_others_goes_all_the_same() {
    let mut fake = Fake::new(Conduct::Attaches);
    fake.starves = true;
    let old = fake.old();
    fake.run(Some(old), TERMS).await.unwrap();
    assert_eq!(fake.running.borrow().as_deref(), Some("new-id"));
}

#[test]
fn every_step_is_in_the_schema() {
    let fake = Fake::new(Conduct::Attaches);
    let old = fake.old();
    let stay = Stay::OnTrial(Duration::from_secs(600));
    let on_trial = Terms { stay, ..TERMS };
    let unwatched = Terms {
        wait: None,
        ..TERMS
    };
    for (replaces, terms) in [
        (Some(&old), TERMS),
        (Some(&old), on_trial),
        (None, TERMS),
        (None, unwatched),
    ] {
        let plan = Plan::new(std::slice::from_ref(&old), replaces, launch(), terms);
        judged("plan", &Planned::of(&plan));
    }
}

#[tokio::test]
async fn a_swap_ends_the_old_one_before_the_new_one_starts() {
    for attached in [true, false] {
        let fake = Fake::new(Conduct::Attaches);
        let old = fake.old();
        if !attached {
            fake.detach();
        }
        let success = fake.run(Some(old), TERMS).await.unwrap();
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
async fn a_swap_that_fails_goes_back() {
    let fake = Fake::new(Conduct::Ends(1, "EXIT: scx_bpf_error (x)\n"));
    let old = fake.old();
    let failure = fake.run(Some(old), TERMS).await.unwrap_err();
    assert_eq!(not_attached(&failure).word(), "BpfError");
    let [Aftermath::WentBack { to, ops }] = failure.aftermath.as_slice() else {
        panic!("{:?}", failure.aftermath);
    };
    assert_eq!((to.as_str(), ops.as_str()), ("old", "old"));
    assert_eq!(fake.running.borrow().as_deref(), Some("old-id"));
    assert!(fake.done().contains(&"remove new-id".to_owned()));
}

#[tokio::test]
async fn one_that_is_ejected_on_probation_fails() {
    let fake = Fake::new(Conduct::IsEjected("EXIT: runnable task stall (x)\n"));
    let old = fake.old();
    let probation = Duration::from_secs(20);
    let wait = Some(Wait { probation, ..WAIT });
    let failure = fake
        .run(Some(old), Terms { wait, ..TERMS })
        .await
        .unwrap_err();
    let told = not_attached(&failure);
    assert!(matches!(told.why, Why::Ejected { .. }), "{:?}", told.why);
    assert_eq!(told.word(), "Stall");
    assert!(matches!(failure.aftermath[0], Aftermath::WentBack { .. }));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_attaches_is_not_taken_for_ours() {
    let fake = Fake::new(Conduct::IsBeaten);
    let failure = fake.run(None, TERMS).await.unwrap_err();
    let told = not_attached(&failure);
    assert_eq!(told.why, Why::Exited(Some(ExitCode(1))));
    assert_eq!(told.word(), "LoadFailedBusy");
    assert_eq!(told.holder.as_ref().unwrap().as_str(), "stranger");
}

#[tokio::test]
async fn one_that_goes_before_anybody_looks_was_there_all_the_same() {
    let fake = Fake::new(Conduct::Flashes("EXIT: scx_bpf_error (x)\n"));
    let failure = fake.run(None, TERMS).await.unwrap_err();
    let code = Some(ExitCode(1));
    let told = not_attached(&failure);
    assert_eq!(told.why, Why::Ejected { ops: None, code });
    assert!(
        failure
            .to_string()
            .starts_with("the kernel took it and let go")
    );
}

#[tokio::test]
async fn a_trial_keeps_the_old_one_and_is_written_down_before_the_start() {
    let fake = Fake::new(Conduct::Attaches);
    let old = fake.old();
    let stay = Stay::OnTrial(Duration::from_secs(600));
    let success = fake.run(Some(old), Terms { stay, ..TERMS }).await.unwrap();
    let trial = Trial::read(&fake.state()).unwrap().unwrap();
    assert_eq!(success.trial, Some(trial.until));
    let enable_seq = success.taken.unwrap().enable_seq;
    assert_eq!(trial.stage, Stage::Begun { enable_seq });
    assert_eq!(trial.before, Some(ContainerId::new("old-id")));
    assert!(!fake.done().contains(&"remove old-id".to_owned()));
}

#[tokio::test]
async fn a_trial_that_never_began_leaves_no_trace() {
    let fake = Fake::new(Conduct::Ends(1, ""));
    let stay = Stay::OnTrial(Duration::from_secs(600));
    fake.run(None, Terms { stay, ..TERMS }).await.unwrap_err();
    assert_eq!(Trial::read(&fake.state()).unwrap(), None);
}

#[tokio::test]
async fn an_old_one_that_cannot_be_removed_undoes_nothing() {
    let mut fake = Fake::new(Conduct::Attaches);
    fake.refuses = Some("remove");
    let old = fake.old();
    let success = fake.run(Some(old), TERMS).await.unwrap();
    assert!(matches!(success.left.as_slice(), [Aftermath::Left(_)]));
    assert_eq!(fake.running.borrow().as_deref(), Some("new-id"));
}

#[tokio::test]
async fn whoever_stands_by_stays_when_the_candidate_cannot_be_removed() {
    let mut fake = Fake::new(Conduct::Ends(1, ""));
    fake.refuses = Some("remove");
    let stay = Stay::OnTrial(Duration::from_secs(600));
    let failure = fake.run(None, Terms { stay, ..TERMS }).await.unwrap_err();
    assert!(matches!(failure.aftermath.as_slice(), [Aftermath::Left(_)]));
    assert!(Trial::read(&fake.state()).unwrap().is_some());
}

#[tokio::test]
async fn without_anybody_to_stand_by_there_is_no_trial_and_the_old_one_goes_on() {
    let mut fake = Fake::new(Conduct::Attaches);
    fake.refuses = Some("stand by");
    let old = fake.old();
    let stay = Stay::OnTrial(Duration::from_secs(600));
    let failure = fake.run(Some(old), Terms { stay, ..TERMS }).await;
    assert!(matches!(failure.unwrap_err().cause, Cause::Guard(_)));
    assert_eq!(Trial::read(&fake.state()).unwrap(), None);
    assert_eq!(fake.running.borrow().as_deref(), Some("old-id"));
    assert_eq!(fake.done(), ["create", "ready new-id", "remove new-id"]);
}
