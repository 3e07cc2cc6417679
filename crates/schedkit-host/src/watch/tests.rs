//! A folder plays the kernel, a bell the events, and time is tokio's: hours pass in no time.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::*;
use crate::sched_ext::State;

const PACE: Pace = Pace {
    poll: Duration::from_secs(3600),
    settle: Duration::from_millis(20),
};

struct Bell(Arc<Notify>);

impl Wakeups for Bell {
    async fn woken(&mut self) {
        self.0.notified().await;
    }
}

struct Scene {
    machine: TempDir,
    bell: Arc<Notify>,
    watch: Watch<Bell>,
}

impl Scene {
    /// A machine in this state, after the first look.
    async fn at(state: &str) -> Self {
        let machine = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(machine.path()).join("root")).unwrap();
        let bell = Arc::new(Notify::new());
        let root = HostRoot::at(machine.path());
        let watch = Watch::with(root, PACE, Bell(bell.clone()));
        let mut scene = Self {
            machine,
            bell,
            watch,
        };
        scene.write("state", state);
        let before = Instant::now();
        assert_eq!(scene.next().await, State::parse(state));
        assert_eq!(Instant::now(), before, "the first look is at once");
        scene
    }

    fn write(&self, name: &str, text: &str) {
        write(self.machine.path(), name, text);
    }

    async fn next(&mut self) -> State {
        let seen = self.watch.next().await;
        seen.known().unwrap().state.known().unwrap().clone()
    }

    /// Long enough after the last change that nothing is looked at quickly any more.
    async fn calm(&mut self) {
        let calm = timeout(PACE.poll / 2, self.watch.next()).await;
        assert!(calm.is_err(), "{calm:?}");
    }
}

fn folder(machine: &Path) -> std::path::PathBuf {
    machine.join("sys/kernel/sched_ext")
}

fn write(machine: &Path, name: &str, text: &str) {
    fs::write(folder(machine).join(name), text).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_wakes() {
    let mut scene = Scene::at("disabled").await;
    scene.calm().await;
    scene.write("state", "enabled");
    scene.bell.notify_one();
    let before = Instant::now();
    assert_eq!(scene.next().await, State::Enabled);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_event_costs_one_poll() {
    let mut scene = Scene::at("disabled").await;
    scene.calm().await;
    scene.write("state", "enabled");
    let before = Instant::now();
    assert_eq!(scene.next().await, State::Enabled);
    let waited = before.elapsed();
    assert!(
        waited > PACE.poll / 2 && waited <= PACE.poll * 2,
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_that_came_too_early_is_followed_up() {
    let mut scene = Scene::at("enabled").await;
    scene.calm().await;
    scene.bell.notify_one();
    let machine = scene.machine.path().to_owned();
    tokio::spawn(async move {
        sleep(Duration::from_millis(50)).await;
        write(&machine, "state", "disabled");
    });
    let before = Instant::now();
    assert_eq!(scene.next().await, State::Disabled);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_attach_is_told_when_the_kernel_has_counted_it() {
    for (counted_after, told) in [(100, "1"), (3_600_000, "0")] {
        let mut scene = Scene::at("disabled").await;
        scene.write("enable_seq", "0");
        scene.next().await;
        scene.calm().await;
        scene.write("root/ops", "lab");
        scene.write("state", "enabled");
        scene.bell.notify_one();
        let machine = scene.machine.path().to_owned();
        tokio::spawn(async move {
            sleep(Duration::from_millis(counted_after)).await;
            write(&machine, "enable_seq", "1");
        });
        let before = Instant::now();
        let seen = scene.watch.next().await;
        let seen = seen.known().unwrap();
        assert_eq!(seen.attached().unwrap().as_str(), "lab");
        assert_eq!(seen.enable_seq.known().unwrap().to_string(), told);
        assert!(before.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_passing_state_is_followed_until_it_has_passed() {
    let mut scene = Scene::at("enabled").await;
    scene.write("state", "disabling");
    scene.bell.notify_one();
    assert_eq!(scene.next().await, State::Disabling);
    let machine = scene.machine.path().to_owned();
    tokio::spawn(async move {
        sleep(Duration::from_secs(5)).await;
        write(&machine, "state", "disabled");
    });
    let before = Instant::now();
    assert_eq!(scene.next().await, State::Disabled);
    assert!(before.elapsed() < Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn the_same_name_attached_again_is_news_and_counters_are_not() {
    let mut scene = Scene::at("enabled").await;
    scene.write("root/events", "SCX_EV_A 1\n");
    scene.bell.notify_one();
    scene.calm().await;
    scene.write("enable_seq", "2\n");
    scene.bell.notify_one();
    let seen = scene.watch.next().await;
    assert_eq!(seen.known().unwrap().enable_seq, Fact::Known(2));
}

#[tokio::test(start_paused = true)]
async fn a_kernel_without_sched_ext_is_watched_too() {
    let mut scene = Scene::at("disabled").await;
    fs::remove_dir_all(folder(scene.machine.path())).unwrap();
    assert_eq!(scene.watch.next().await, Fact::Absent);
}

#[test]
fn haste_ends() {
    let limits: Vec<u128> = (0..4).map(|n| PACE.limit(n, false).as_millis()).collect();
    assert_eq!(limits, [20, 40, 80, 3_600_000]);
    assert_eq!(PACE.limit(5, true).as_millis(), 640);
    assert_eq!(PACE.limit(u32::MAX, true), Duration::from_millis(20 << 16));
    let short = Pace {
        poll: Duration::from_millis(50),
        ..PACE
    };
    assert_eq!(short.limit(u32::MAX, true), short.poll);
}

/// With events where this machine gives a socket, otherwise by polling alone.
#[tokio::test]
async fn this_machine_can_be_watched() {
    let mut watch = Watch::open(HostRoot::system(), PACE);
    assert_eq!(watch.hears_events(), UeventStream::open().is_ok());
    let seen = watch.next().await;
    assert!(agree(&seen, &SchedExt::read(&HostRoot::system())));
}
