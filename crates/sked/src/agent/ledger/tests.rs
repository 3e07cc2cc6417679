//! An API server of a few lines, and moments that are numbers.

use schedkit_host::SchedExtState;

use super::*;

fn me() -> Identity {
    Identity {
        name: "node1".to_owned(),
        uid: "uid-1".to_owned(),
    }
}

fn kernel() -> KernelInfo {
    KernelInfo {
        release: Fact::Known("6.18.15".parse().unwrap()),
        boot_id: Fact::Known("0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11".to_owned()),
        realtime: Fact::Absent,
        bpf_jit: Fact::Absent,
    }
}

fn reading(state: SchedExtState, enable_seq: u64) -> Fact<SchedExt> {
    Fact::Known(SchedExt {
        state: Fact::Known(state),
        ops: Fact::Absent,
        switch_all: Fact::Known(true),
        nr_rejected: Fact::Known(0),
        hotplug_seq: Fact::Known(0),
        enable_seq: Fact::Known(enable_seq),
        events: Fact::Absent,
    })
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A ledger, the moments of its life, and what the API server has.
struct Scene {
    ledger: Ledger,
    begin: Instant,
    version: u64,
}

impl Scene {
    fn new() -> Self {
        Self {
            ledger: Ledger::new(me()),
            begin: Instant::now(),
            version: 10,
        }
    }

    /// Listed and followed, with nothing there.
    fn watching() -> Self {
        let mut scene = Self::new();
        scene.ledger.heard(News::Listed(None));
        scene.ledger.heard(News::Following);
        scene
    }

    fn moment(&self, millis: u64) -> Instant {
        self.begin + Duration::from_millis(millis)
    }

    fn read(&mut self, state: SchedExtState, seq: u64, millis: u64) {
        let (now, moment) = (
            at(1000 + i64::try_from(millis).unwrap()),
            self.moment(millis),
        );
        self.ledger
            .read(&reading(state, seq), &kernel(), now, moment);
    }

    /// When the next step is due, in milliseconds.
    fn due(&self, millis: u64) -> Option<u128> {
        let due = self.ledger.due(self.moment(millis))?;
        Some((due - self.begin).as_millis())
    }

    /// Takes the step that is to be taken, as the API server would.
    fn take(&mut self, millis: u64) -> Report {
        self.ledger.begin(self.moment(millis));
        self.version += 1;
        let status = match self.ledger.step().unwrap() {
            Step::Create => SchedExtNodeStatus::default(),
            Step::Patch(status) => *status,
            Step::Delete { .. } => panic!("nothing is to be deleted"),
        };
        let report = self.report(Some(me()), status);
        self.ledger.done(Held::There(Box::new(report.clone())));
        report
    }

    fn report(&self, owner: Option<Identity>, status: SchedExtNodeStatus) -> Report {
        Report {
            uid: "report-1".to_owned(),
            version: Some(self.version),
            owner,
            status,
        }
    }
}

#[test]
fn a_first_report_is_made_filled_and_left_alone() {
    let mut scene = Scene::watching();
    assert_eq!(scene.ledger.step(), None, "the kernel was not asked");
    scene.read(SchedExtState::Disabled, 0, 0);
    assert_eq!(scene.ledger.step(), Some(Step::Create));
    assert_eq!(scene.due(0), Some(0), "at once");
    scene.take(0);
    assert!(matches!(scene.ledger.step(), Some(Step::Patch(_))));
    assert!(!scene.ledger.missing().is_empty());
    scene.take(0);
    assert_eq!(scene.due(0), None);
    assert!(scene.ledger.missing().is_empty());
}

#[test]
fn nothing_is_written_before_the_old_report_was_looked_at() {
    let mut scene = Scene::new();
    scene.read(SchedExtState::Enabled, 3, 500);
    assert_eq!(scene.ledger.step(), None);
    let mut older = scene.ledger.wanted.clone().unwrap();
    older.since = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(
        at(7),
    ));
    let report = scene.report(Some(me()), older);
    scene.ledger.heard(News::Listed(Some(report)));
    assert_eq!(
        scene.ledger.step(),
        None,
        "it is right already, since included"
    );
    // The other way round: the report was there before the kernel was asked.
    let Held::There(report) = scene.ledger.held.clone() else {
        panic!("it was listed");
    };
    let mut scene = Scene::new();
    scene.ledger.heard(News::Listed(Some(*report)));
    scene.read(SchedExtState::Enabled, 3, 900);
    assert_eq!(scene.ledger.step(), None);
}

#[test]
fn a_list_after_an_outage_does_not_bring_an_older_since_back() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Enabled, 3, 0);
    scene.take(0);
    let old = scene.take(0);
    scene.ledger.heard(News::Lost("cut".to_owned()));
    scene.read(SchedExtState::Disabled, 3, 10);
    scene.read(SchedExtState::Enabled, 3, 20);
    scene.ledger.heard(News::Listed(Some(old)));
    let Some(Step::Patch(status)) = scene.ledger.step() else {
        panic!("it was away meanwhile");
    };
    assert_eq!(status.since.unwrap().0, at(1020));
}

#[test]
fn a_report_of_another_node_of_this_name_is_replaced() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Disabled, 0, 0);
    let other = Identity {
        uid: "uid-0".to_owned(),
        ..me()
    };
    for owner in [None, Some(other)] {
        let report = scene.report(owner, scene.ledger.wanted.clone().unwrap());
        scene.ledger.heard(News::Listed(Some(report)));
        let uid = "report-1".to_owned();
        assert_eq!(scene.ledger.step(), Some(Step::Delete { uid }));
    }
    scene.ledger.done(Held::Gone);
    assert_eq!(scene.ledger.step(), Some(Step::Create));
    // The Node came back with another uid, and the token was renewed.
    scene.take(0);
    scene.ledger.identify(Identity {
        uid: "uid-2".to_owned(),
        ..me()
    });
    assert!(matches!(scene.ledger.step(), Some(Step::Delete { .. })));
}

#[test]
fn a_report_that_is_deleted_or_changed_by_others_is_put_right() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Disabled, 0, 0);
    scene.take(0);
    let ours = scene.take(0);
    scene.version += 1;
    let mut theirs = scene.report(Some(me()), ours.status.clone());
    theirs.status.state = Some("enabled".to_owned());
    scene.ledger.heard(News::Changed(theirs));
    assert!(matches!(scene.ledger.step(), Some(Step::Patch(_))));
    scene.ledger.heard(News::Deleted(Some(scene.version)));
    assert_eq!(scene.ledger.step(), Some(Step::Create));
}

#[test]
fn news_from_before_our_own_write_are_none() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Disabled, 0, 0);
    let created = scene.take(0);
    scene.take(0);
    scene.ledger.heard(News::Changed(created));
    assert_eq!(scene.ledger.step(), None);
    scene.ledger.heard(News::Deleted(Some(1)));
    assert_eq!(scene.ledger.step(), None);
}

#[test]
fn what_passes_is_not_written_and_what_stays_is() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Enabled, 1, 0);
    scene.take(0);
    scene.take(0);
    scene.read(SchedExtState::Disabling, 1, 1000);
    assert_eq!(scene.due(1000), Some(1050));
    scene.read(SchedExtState::Disabling, 1, 1040);
    assert_eq!(scene.due(1040), Some(1050), "counted from its beginning");
    scene.read(SchedExtState::Disabled, 1, 1045);
    assert_eq!(
        scene.due(1045),
        Some(1045),
        "a settled state is written at once"
    );
}

#[test]
fn a_scheduler_that_flaps_cannot_flood_and_the_last_state_is_written() {
    let mut scene = Scene::watching();
    let mut writes = 0;
    for round in 0..1000 {
        let millis = round * 10;
        let state = match round % 2 {
            0 => SchedExtState::Enabled,
            _ => SchedExtState::Disabled,
        };
        scene.read(state, round, millis);
        while scene.due(millis) == Some(u128::from(millis)) {
            scene.take(millis);
            writes += 1;
        }
    }
    assert!(writes <= 15, "{writes} writes in ten seconds");
    let due = u64::try_from(scene.due(9_990).unwrap()).unwrap();
    assert!(due <= 11_000, "{due}");
    let last = scene.take(due);
    assert_eq!(last.status.enable_seq, Some(999));
    assert_eq!(scene.due(due), None);
}

#[test]
fn failures_pause_and_news_of_the_kernel_do_not_cut_the_pause_short() {
    let mut scene = Scene::watching();
    let mut dice: Dice = Box::new(|| 1.0);
    scene.read(SchedExtState::Disabled, 0, 0);
    let moment = scene.moment(0);
    assert!(scene.ledger.failed("away".to_owned(), &mut dice, moment));
    assert!(
        !scene.ledger.failed("away".to_owned(), &mut dice, moment),
        "said once"
    );
    scene.read(SchedExtState::Enabled, 1, 100);
    assert_eq!(scene.due(100), Some(400));
    let missing = scene.ledger.missing();
    assert_eq!(missing, ["the report is not written: away"]);
    scene.take(400);
    assert_eq!(scene.due(400), Some(400), "a success ends it");
}

#[test]
fn a_report_is_believed_only_while_it_is_watched() {
    let mut scene = Scene::new();
    scene.ledger.heard(News::Listed(None));
    scene.read(SchedExtState::Disabled, 0, 0);
    scene.take(0);
    scene.take(0);
    assert_eq!(
        scene.ledger.missing(),
        ["the own report was not looked at yet"]
    );
    scene.ledger.heard(News::Following);
    assert!(scene.ledger.missing().is_empty());
    assert!(!scene.ledger.knows_lost("gone"));
    scene.ledger.heard(News::Lost("gone".to_owned()));
    assert!(scene.ledger.knows_lost("gone") && !scene.ledger.knows_lost("other"));
    assert_eq!(
        scene.ledger.missing(),
        ["the own report is not watched: gone"]
    );
}
