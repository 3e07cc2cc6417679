//! The watch, with a folder as sysfs, a `Notify` as uevents and tokio's paused clock.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::*;
use crate::sched_ext::SchedExtState;

const INTERVALS: WatchIntervals = WatchIntervals {
    poll: Duration::from_secs(3600),
    settle: Duration::from_millis(20),
};

struct NotifyWakeups(Arc<Notify>);

impl Wakeups for NotifyWakeups {
    async fn woken(&mut self) {
        self.0.notified().await;
    }
}

struct Fixture {
    machine: TempDir,
    notify: Arc<Notify>,
    watch: Watch<NotifyWakeups>,
}

impl Fixture {
    /// A machine in this state, after the first read.
    async fn at(state: &str) -> Self {
        let machine = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(machine.path()).join("root")).unwrap();
        let notify = Arc::new(Notify::new());
        let root = HostRoot::at(machine.path());
        let watch = Watch::with(root, INTERVALS, NotifyWakeups(notify.clone()));
        let mut fixture = Self {
            machine,
            notify,
            watch,
        };
        fixture.write("state", state);
        let before = Instant::now();
        assert_eq!(fixture.next().await, SchedExtState::parse(state));
        assert_eq!(Instant::now(), before, "the first read is at once");
        fixture
    }

    fn write(&self, name: &str, text: &str) {
        write(self.machine.path(), name, text);
    }

    async fn next(&mut self) -> SchedExtState {
        let observed = self.watch.next().await;
        observed.known().unwrap().state.known().unwrap().clone()
    }

    /// Waits until the intervals are long again.
    async fn wait_until_idle(&mut self) {
        let wait_until_idle = timeout(INTERVALS.poll / 2, self.watch.next()).await;
        assert!(wait_until_idle.is_err(), "{wait_until_idle:?}");
    }
}

fn folder(machine: &Path) -> std::path::PathBuf {
    machine.join("sys/kernel/sched_ext")
}

fn write(machine: &Path, name: &str, text: &str) {
    fs::write(folder(machine).join(name), text).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_triggers_a_read() {
    let mut fixture = Fixture::at("disabled").await;
    fixture.wait_until_idle().await;
    fixture.write("state", "enabled");
    fixture.notify.notify_one();
    let before = Instant::now();
    assert_eq!(fixture.next().await, SchedExtState::Enabled);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_event_is_found_by_the_poll() {
    let mut fixture = Fixture::at("disabled").await;
    fixture.wait_until_idle().await;
    fixture.write("state", "enabled");
    let before = Instant::now();
    assert_eq!(fixture.next().await, SchedExtState::Enabled);
    let waited = before.elapsed();
    assert!(
        waited > INTERVALS.poll / 2 && waited <= INTERVALS.poll * 2,
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_that_came_too_early_is_followed_up() {
    let mut fixture = Fixture::at("enabled").await;
    fixture.wait_until_idle().await;
    fixture.notify.notify_one();
    let machine = fixture.machine.path().to_owned();
    tokio::spawn(async move {
        sleep(Duration::from_millis(50)).await;
        write(&machine, "state", "disabled");
    });
    let before = Instant::now();
    assert_eq!(fixture.next().await, SchedExtState::Disabled);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_attach_is_returned_when_enable_seq_has_increased() {
    for (counted_after, enable_seq) in [(100, "1"), (3_600_000, "0")] {
        let mut fixture = Fixture::at("disabled").await;
        fixture.write("enable_seq", "0");
        fixture.next().await;
        fixture.wait_until_idle().await;
        fixture.write("root/ops", "lab");
        fixture.write("state", "enabled");
        fixture.notify.notify_one();
        let machine = fixture.machine.path().to_owned();
        tokio::spawn(async move {
            sleep(Duration::from_millis(counted_after)).await;
            write(&machine, "enable_seq", "1");
        });
        let before = Instant::now();
        let observed = fixture.watch.next().await;
        let observed = observed.known().unwrap();
        assert_eq!(observed.attached().unwrap().as_str(), "lab");
        assert_eq!(observed.enable_seq.known().unwrap().to_string(), enable_seq);
        assert!(before.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_transitional_state_is_read_until_it_is_over() {
    let mut fixture = Fixture::at("enabled").await;
    fixture.write("state", "disabling");
    fixture.notify.notify_one();
    assert_eq!(fixture.next().await, SchedExtState::Disabling);
    let machine = fixture.machine.path().to_owned();
    tokio::spawn(async move {
        sleep(Duration::from_secs(5)).await;
        write(&machine, "state", "disabled");
    });
    let before = Instant::now();
    assert_eq!(fixture.next().await, SchedExtState::Disabled);
    assert!(before.elapsed() < Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn an_attach_of_the_same_name_is_a_change_and_counters_are_not() {
    let mut fixture = Fixture::at("enabled").await;
    fixture.write("root/events", "SCX_EV_A 1\n");
    fixture.notify.notify_one();
    fixture.wait_until_idle().await;
    fixture.write("enable_seq", "2\n");
    fixture.notify.notify_one();
    let observed = fixture.watch.next().await;
    assert_eq!(observed.known().unwrap().enable_seq, Fact::Known(2));
}

#[tokio::test(start_paused = true)]
async fn a_kernel_without_sched_ext_is_watched_too() {
    let mut fixture = Fixture::at("disabled").await;
    fs::remove_dir_all(folder(fixture.machine.path())).unwrap();
    assert_eq!(fixture.watch.next().await, Fact::Absent);
}

#[test]
fn intervals_grow() {
    let limits: Vec<u128> = (0..4)
        .map(|n| INTERVALS.limit(n, false).as_millis())
        .collect();
    assert_eq!(limits, [20, 40, 80, 3_600_000]);
    assert_eq!(INTERVALS.limit(5, true).as_millis(), 640);
    assert_eq!(
        INTERVALS.limit(u32::MAX, true),
        Duration::from_millis(20 << 16)
    );
    let short = WatchIntervals {
        poll: Duration::from_millis(50),
        ..INTERVALS
    };
    assert_eq!(short.limit(u32::MAX, true), short.poll);
}

/// With uevents where this machine allows the socket, otherwise by polling.
#[tokio::test]
async fn this_machine_can_be_watched() {
    let mut watch = Watch::open(HostRoot::system(), INTERVALS);
    assert_eq!(watch.receives_events(), UeventStream::open().is_ok());
    let observed = watch.next().await;
    assert!(is_same(
        &observed,
        &KernelSchedExt::read(&HostRoot::system())
    ));
}
