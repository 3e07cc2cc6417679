//! The end of containers: asked, forced, gone; ours and others'.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use schedkit_runtime::{After, ContainerId, ContainerState, Driver, DriverError, ExitCode, Until};

use crate::images::Recipe;
use crate::yard::{REPOSITORY, Yard, registry, trusted};

#[test]
fn a_scheduler_is_asked_first_and_leaves_nothing() {
    let yard = Yard::open();
    let id = yard.run(&Recipe::new("gentle"), &["gently", "wait"]);
    yard.await_waiting(&id);
    let pid = yard.list()[0].pid().unwrap();
    yard.end(&id, After::Keep);
    assert_eq!(yard.list()[0].state, ContainerState::Exited(ExitCode(7)));
    yard.end(&id, After::Remove);
    assert!(yard.list().is_empty());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    let logs = std::fs::read_dir(yard.daemon.path("logs")).unwrap();
    assert_eq!(logs.count(), 0);
    let snapshots = yard.daemon.ctr("schedkit", &["snapshots", "ls"]);
    assert!(!snapshots.contains(id.as_str()), "{snapshots}");
    // A second time it is gone already, which is no error.
    yard.end(&id, After::Remove);
}

#[test]
fn one_that_does_not_listen_is_killed_after_the_grace() {
    let yard = Yard::open();
    let id = yard.run(&Recipe::new("stubborn"), &["stubbornly", "wait"]);
    yard.await_waiting(&id);
    let end = yard
        .driver
        .end(&id, Duration::from_millis(200), After::Keep);
    yard.runtime.block_on(end).unwrap();
    assert_eq!(yard.list()[0].state, ContainerState::Exited(ExitCode(137)));
    yard.end(&id, After::Remove);
}

#[test]
fn what_was_never_started_goes_as_well() {
    let yard = Yard::open();
    let id = yard.make(&Recipe::new("unborn"), &[]);
    assert_eq!(yard.list()[0].state, ContainerState::Created);
    yard.end(&id, After::Remove);
    assert!(yard.list().is_empty());
}

/// containerd forgets a shim whose maker is cut off at one moment, which schedctl's tests on a
/// machine meet. Here something that only looks like one stands for it.
#[test]
fn a_shim_that_containerd_forgot_goes_with_its_container() {
    let yard = Yard::open();
    let ids = ["cut-off", "other"].map(|name| yard.make(&Recipe::new(name), &["wait"]));
    let program = yard.daemon.path("containerd-shim-runc-v2");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let [mut forgotten, mut other] = ids.each_ref().map(|id| {
        let words = ["-c", "read word", "-namespace", "schedkit", "-id"];
        let mut shim = Command::new(&program);
        shim.args(words).arg(id.as_str()).stdin(Stdio::piped());
        shim.spawn().unwrap()
    });
    yard.end(&ids[0], After::Remove);
    assert_eq!(forgotten.wait().unwrap().signal(), Some(9));
    assert_eq!(other.try_wait().unwrap(), None);
    yard.end(&ids[1], After::Remove);
    assert_eq!(other.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_removal_that_was_cut_off_is_finished_by_the_next() {
    let yard = Yard::open();
    for milliseconds in (0..40).step_by(2) {
        let id = yard.run(&Recipe::new("cut-off"), &["wait"]);
        yard.await_waiting(&id);
        yard.end(&id, After::Keep);
        let limit = Duration::from_millis(milliseconds);
        let removal = yard.driver.end(&id, Duration::ZERO, After::Remove);
        let removal = async { tokio::time::timeout(limit, removal).await };
        let _ = yard.runtime.block_on(removal);
        yard.end(&id, After::Remove);
        assert!(yard.list().is_empty(), "{milliseconds} ms");
    }
}

#[test]
fn what_others_left_in_our_namespace_is_listed_and_removed() {
    let yard = Yard::open();
    let digest = Recipe::new("others").push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    yard.pull(&image);
    let ours = yard.create(&image, &["wait"]).unwrap();
    yard.start(&ours);
    let name = image.image().to_string();
    // As the older schedctl made them: no labels of ours, no log.
    let words = [
        "run",
        "--detach",
        "--null-io",
        &name,
        "scx_old",
        "/puppet",
        "wait",
    ];
    yard.daemon.ctr("schedkit", &words);
    let listed = yard.list();
    let names: Vec<_> = listed
        .iter()
        .map(|container| container.name.as_str())
        .collect();
    assert_eq!(names, [ours.as_str(), "scx_old"]);
    assert_eq!(listed[1].record.scheduler, None);
    assert!(listed[1].pid().is_some());
    let old = listed[1].id.clone();
    let mut take = |piece: schedkit_runtime::OutputChunk<'_>| panic!("{piece:?}");
    let heard = yard.driver.output(&old, Until::Now, &mut take);
    assert_eq!(yard.runtime.block_on(heard).unwrap(), None);
    let end = yard
        .driver
        .end(&old, Duration::from_millis(200), After::Remove);
    yard.runtime.block_on(end).unwrap();
    yard.end(&ours, After::Remove);
    assert!(yard.list().is_empty());
    let snapshots = yard.daemon.ctr("schedkit", &["snapshots", "ls"]);
    assert!(!snapshots.contains("scx_old"), "{snapshots}");
}

#[test]
fn what_is_not_there_cannot_be_started_or_listened_to() {
    let yard = Yard::open();
    let id = ContainerId::new("absent");
    let error = yard.runtime.block_on(yard.driver.start(&id)).unwrap_err();
    assert!(matches!(error, DriverError::NoContainer { .. }), "{error}");
    let mut take = |_: schedkit_runtime::OutputChunk<'_>| {};
    let listened = yard.driver.output(&id, Until::Exit, &mut take);
    let error = yard.runtime.block_on(listened).unwrap_err();
    assert!(matches!(error, DriverError::NoContainer { .. }), "{error}");
}

#[test]
fn who_listens_goes_on_when_containerd_is_restarted() {
    let mut yard = Yard::open();
    let id = yard.run(&Recipe::new("restart"), &["gently", "wait"]);
    let Yard {
        daemon,
        driver,
        runtime,
    } = &mut yard;
    let mut heard = String::new();
    let mut take = |piece: schedkit_runtime::OutputChunk<'_>| {
        heard.push_str(std::str::from_utf8(piece.bytes).unwrap());
        // The call that waits for the end is cut off here.
        daemon.restart();
        daemon.ctr("schedkit", &["tasks", "kill", id.as_str()]);
    };
    let code = runtime.block_on(driver.output(&id, Until::Exit, &mut take));
    assert_eq!(code.unwrap(), Some(ExitCode(7)));
    assert_eq!(heard, "waiting\n");
}
