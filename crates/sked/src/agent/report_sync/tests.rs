//! Which write comes next, with a simulated API server and clock.

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

fn reading(state: SchedExtState, enable_seq: u64) -> Fact<KernelSchedExt> {
    Fact::Known(KernelSchedExt {
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

/// A `ReportSync`, its clock, and the API server's latest version.
struct Scene {
    sync: ReportSync,
    begin: Instant,
    version: u64,
}

impl Scene {
    fn new() -> Self {
        Self {
            sync: ReportSync::new(me(), None),
            begin: Instant::now(),
            version: 10,
        }
    }

    /// With an established watch and no report.
    fn watching() -> Self {
        let mut scene = Self::new();
        scene.sync.handle(ReportEvent::Listed(None));
        scene.sync.handle(ReportEvent::Watching);
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
        self.sync.read(&reading(state, seq), &kernel(), now, moment);
    }

    /// When the next write is due, in milliseconds.
    fn due(&self, millis: u64) -> Option<u128> {
        let due = self.sync.due(self.moment(millis))?;
        Some((due - self.begin).as_millis())
    }

    /// Executes the next write, as the API server would.
    fn take(&mut self, millis: u64) -> PublishedReport {
        self.take_with(millis, |status| status)
    }

    /// The same with an API server that stores something else.
    fn take_with(
        &mut self,
        millis: u64,
        stored: impl Fn(SchedExtNodeStatus) -> SchedExtNodeStatus,
    ) -> PublishedReport {
        self.sync.begin(self.moment(millis));
        self.version += 1;
        let write = self.sync.next_write().unwrap();
        let status = match &write {
            ReportWrite::Create => SchedExtNodeStatus::default(),
            ReportWrite::Patch(status) => stored((**status).clone()),
            ReportWrite::Delete { .. } => panic!("unexpected delete"),
        };
        let report = self.report(Some(me()), status);
        let stored = StoredReport::Present(Box::new(report.clone()));
        self.sync.done(&write, stored);
        report
    }

    fn report(&self, owner: Option<Identity>, status: SchedExtNodeStatus) -> PublishedReport {
        PublishedReport {
            uid: "report-1".to_owned(),
            version: Some(self.version),
            owner,
            status,
        }
    }
}

#[test]
fn a_first_report_is_created_filled_and_left_alone() {
    let mut scene = Scene::watching();
    assert_eq!(scene.sync.next_write(), None, "the kernel was not read");
    scene.read(SchedExtState::Disabled, 0, 0);
    assert_eq!(scene.sync.next_write(), Some(ReportWrite::Create));
    assert_eq!(scene.due(0), Some(0), "at once");
    scene.take(0);
    assert!(matches!(
        scene.sync.next_write(),
        Some(ReportWrite::Patch(_))
    ));
    assert!(!scene.sync.missing().is_empty());
    scene.take(0);
    assert_eq!(scene.due(0), None);
    assert!(scene.sync.missing().is_empty());
}

#[test]
fn nothing_is_written_before_the_old_report_was_read() {
    let mut scene = Scene::new();
    scene.read(SchedExtState::Enabled, 3, 500);
    assert_eq!(scene.sync.next_write(), None);
    let mut older = scene.sync.desired.clone().unwrap();
    older.since = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(
        at(7),
    ));
    let report = scene.report(Some(me()), older);
    scene.sync.handle(ReportEvent::Listed(Some(report)));
    assert_eq!(
        scene.sync.next_write(),
        None,
        "it is right already, since included"
    );
    // The other way round: the report was listed before the kernel was read.
    let StoredReport::Present(report) = scene.sync.stored.clone() else {
        panic!("it was listed");
    };
    let mut scene = Scene::new();
    scene.sync.handle(ReportEvent::Listed(Some(*report)));
    scene.read(SchedExtState::Enabled, 3, 900);
    assert_eq!(scene.sync.next_write(), None);
}

#[test]
fn a_list_after_an_outage_does_not_restore_an_older_since() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Enabled, 3, 0);
    scene.take(0);
    let old = scene.take(0);
    scene.sync.handle(ReportEvent::Lost("cut".to_owned()));
    scene.read(SchedExtState::Disabled, 3, 10);
    scene.read(SchedExtState::Enabled, 3, 20);
    scene.sync.handle(ReportEvent::Listed(Some(old)));
    let Some(ReportWrite::Patch(status)) = scene.sync.next_write() else {
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
        let report = scene.report(owner, scene.sync.desired.clone().unwrap());
        scene.sync.handle(ReportEvent::Listed(Some(report)));
        let uid = "report-1".to_owned();
        assert_eq!(scene.sync.next_write(), Some(ReportWrite::Delete { uid }));
    }
    let delete = scene.sync.next_write().unwrap();
    scene.sync.done(&delete, StoredReport::Absent);
    assert_eq!(scene.sync.next_write(), Some(ReportWrite::Create));
    // The Node came back with another uid, and the token was renewed.
    scene.take(0);
    scene.sync.identify(Identity {
        uid: "uid-2".to_owned(),
        ..me()
    });
    assert!(matches!(
        scene.sync.next_write(),
        Some(ReportWrite::Delete { .. })
    ));
}

/// An older CRD does not have a field of this agent's report.
#[test]
fn what_the_api_server_drops_is_not_written_again() {
    let older = |mut status: SchedExtNodeStatus| {
        status.switch_all = None;
        status
    };
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Disabled, 0, 0);
    scene.take(0);
    let report = scene.take_with(0, older);
    assert_eq!(scene.sync.next_write(), None);
    assert!(scene.sync.missing().is_empty(), "ready");
    scene.sync.handle(ReportEvent::Changed(report.clone()));
    assert_eq!(scene.sync.next_write(), None);
    // Changes of the kernel and of others are written as always.
    scene.read(SchedExtState::Enabled, 1, 0);
    assert!(scene.sync.next_write().is_some());
    scene.take_with(0, older);
    scene.version += 1;
    let theirs = scene.report(Some(me()), report.status);
    scene.sync.handle(ReportEvent::Changed(theirs));
    assert!(scene.sync.next_write().is_some());
}

#[test]
fn a_report_that_others_delete_or_change_is_written_again() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Disabled, 0, 0);
    scene.take(0);
    let ours = scene.take(0);
    scene.version += 1;
    let mut theirs = scene.report(Some(me()), ours.status.clone());
    theirs.status.state = Some("enabled".to_owned());
    scene.sync.handle(ReportEvent::Changed(theirs));
    assert!(matches!(
        scene.sync.next_write(),
        Some(ReportWrite::Patch(_))
    ));
    scene.sync.handle(ReportEvent::Deleted(Some(scene.version)));
    assert_eq!(scene.sync.next_write(), Some(ReportWrite::Create));
}

#[test]
fn events_older_than_our_own_write_are_ignored() {
    let mut scene = Scene::watching();
    scene.read(SchedExtState::Disabled, 0, 0);
    let created = scene.take(0);
    scene.take(0);
    scene.sync.handle(ReportEvent::Changed(created));
    assert_eq!(scene.sync.next_write(), None);
    scene.sync.handle(ReportEvent::Deleted(Some(1)));
    assert_eq!(scene.sync.next_write(), None);
}

#[test]
fn a_transitional_state_is_written_only_if_it_lasts() {
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
fn a_flapping_scheduler_is_rate_limited_and_its_last_state_written() {
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
fn failures_back_off_and_readings_do_not_shorten_the_delay() {
    let mut scene = Scene::watching();
    let mut random: Random = Box::new(|| 1.0);
    scene.read(SchedExtState::Disabled, 0, 0);
    let moment = scene.moment(0);
    assert!(scene.sync.failed("away".to_owned(), &mut random, moment));
    assert!(
        !scene.sync.failed("away".to_owned(), &mut random, moment),
        "the same message again"
    );
    scene.read(SchedExtState::Enabled, 1, 100);
    assert_eq!(scene.due(100), Some(400));
    let missing = scene.sync.missing();
    assert_eq!(missing, ["the report is not written: away"]);
    scene.take(400);
    assert_eq!(scene.due(400), Some(400), "a success ends it");
}

#[test]
fn the_agent_is_ready_only_while_it_watches_its_report() {
    let mut scene = Scene::new();
    scene.sync.handle(ReportEvent::Listed(None));
    scene.read(SchedExtState::Disabled, 0, 0);
    scene.take(0);
    scene.take(0);
    assert_eq!(scene.sync.missing(), ["the own report was not read yet"]);
    scene.sync.handle(ReportEvent::Watching);
    assert!(scene.sync.missing().is_empty());
    assert!(!scene.sync.knows_lost("gone"));
    scene.sync.handle(ReportEvent::Lost("gone".to_owned()));
    assert!(scene.sync.knows_lost("gone") && !scene.sync.knows_lost("other"));
    assert_eq!(
        scene.sync.missing(),
        ["the own report is not watched: gone"]
    );
}
