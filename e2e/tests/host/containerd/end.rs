//! Stopping and removing containers: by signal, by force, when gone already; schedctl's and others'.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use schedkit_runtime::{
    After, ContainerId, ContainerState, Driver, DriverError, ExitCode, ImageEntry, ImageStore,
    Until,
};

use testkit::containerd::image::ImageRecipe;
use testkit::containerd::{ContainerdFixture, REPOSITORY, registry, trusted};

#[test]
fn sigterm_comes_first_and_nothing_is_left() {
    let fixture = ContainerdFixture::fresh();
    let id = fixture.run(&ImageRecipe::new("gentle"), &["gently", "wait"]);
    fixture.await_waiting(&id);
    let pid = fixture.list()[0].pid().unwrap();
    fixture.end(&id, After::Keep);
    assert_eq!(fixture.list()[0].state, ContainerState::Exited(ExitCode(7)));
    fixture.end(&id, After::Remove);
    assert!(fixture.list().is_empty());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    let logs = std::fs::read_dir(fixture.daemon.path("logs")).unwrap();
    assert_eq!(logs.count(), 0);
    let snapshots = fixture.daemon.ctr("schedkit", &["snapshots", "ls"]);
    assert!(!snapshots.contains(id.as_str()), "{snapshots}");
    // A second time it is gone already, which is no error.
    fixture.end(&id, After::Remove);
}

#[test]
fn what_ignores_sigterm_is_killed_after_the_grace_period() {
    let fixture = ContainerdFixture::fresh();
    let id = fixture.run(&ImageRecipe::new("stubborn"), &["stubbornly", "wait"]);
    fixture.await_waiting(&id);
    let end = fixture
        .driver
        .end(&id, Duration::from_millis(200), After::Keep);
    fixture.runtime.block_on(end).unwrap();
    assert_eq!(
        fixture.list()[0].state,
        ContainerState::Exited(ExitCode(137))
    );
    fixture.end(&id, After::Remove);
}

/// The program handles SIGTERM only.
#[test]
fn the_stop_signal_of_the_image_is_sent() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("interrupted");
    recipe.process["StopSignal"] = "SIGINT".into();
    let id = fixture.run(&recipe, &["gently", "wait"]);
    fixture.await_waiting(&id);
    fixture.end(&id, After::Keep);
    assert_eq!(
        fixture.list()[0].state,
        ContainerState::Exited(ExitCode(128 + 2))
    );
    fixture.end(&id, After::Remove);
}

#[test]
fn an_image_is_listed_and_removed_with_its_layers() {
    let fixture = ContainerdFixture::fresh();
    let id = fixture.make(&ImageRecipe::new("listed"), &[]);
    let images = || fixture.runtime.block_on(fixture.driver.images()).unwrap();
    let [used] = images().try_into().unwrap();
    let ImageEntry {
        size,
        containers,
        created,
        ..
    } = used;
    assert!(size.unwrap() > 0 && containers == 1 && created.is_some());
    fixture.end(&id, After::Remove);
    let [unused] = images().try_into().unwrap();
    assert_eq!(unused.containers, 0);
    let remove = || fixture.runtime.block_on(fixture.driver.remove(&unused));
    remove().unwrap();
    assert_eq!(images(), []);
    let content = fixture.daemon.ctr("schedkit", &["content", "ls", "-q"]);
    assert_eq!(content.trim(), "");
    remove().unwrap();
}

#[test]
fn what_was_never_started_is_removed() {
    let fixture = ContainerdFixture::fresh();
    let id = fixture.make(&ImageRecipe::new("unborn"), &[]);
    assert_eq!(fixture.list()[0].state, ContainerState::Created);
    fixture.end(&id, After::Remove);
    assert!(fixture.list().is_empty());
}

/// containerd forgets a shim whose maker is cut off at one moment, which schedctl's tests on a
/// machine meet. Here something that only looks like one stands for it.
#[test]
fn a_shim_that_containerd_forgot_is_killed_with_its_container() {
    let fixture = ContainerdFixture::fresh();
    let ids = ["cut-off", "other"].map(|name| fixture.make(&ImageRecipe::new(name), &["wait"]));
    let program = fixture.daemon.path("containerd-shim-runc-v2");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let [mut forgotten, mut other] = ids.each_ref().map(|id| {
        let words = ["-c", "read word", "-namespace", "schedkit", "-id"];
        let mut shim = Command::new(&program);
        shim.args(words).arg(id.as_str()).stdin(Stdio::piped());
        shim.spawn().unwrap()
    });
    fixture.end(&ids[0], After::Remove);
    assert_eq!(forgotten.wait().unwrap().signal(), Some(9));
    assert_eq!(other.try_wait().unwrap(), None);
    fixture.end(&ids[1], After::Remove);
    assert_eq!(other.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_removal_that_was_cut_off_is_finished_by_the_next() {
    let fixture = ContainerdFixture::fresh();
    for milliseconds in (0..40).step_by(2) {
        let id = fixture.run(&ImageRecipe::new("cut-off"), &["wait"]);
        fixture.await_waiting(&id);
        fixture.end(&id, After::Keep);
        let limit = Duration::from_millis(milliseconds);
        let removal = fixture.driver.end(&id, Duration::ZERO, After::Remove);
        let removal = async { tokio::time::timeout(limit, removal).await };
        let _ = fixture.runtime.block_on(removal);
        fixture.end(&id, After::Remove);
        assert!(fixture.list().is_empty(), "{milliseconds} ms");
    }
}

#[test]
fn what_others_left_in_our_namespace_is_listed_and_removed() {
    let fixture = ContainerdFixture::fresh();
    let digest = ImageRecipe::new("others").push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    fixture.pull(&image);
    let ours = fixture.create(&image, &["wait"]).unwrap();
    fixture.start(&ours);
    let name = image.image().to_string();
    // As the older schedctl made them: no labels of ours, no log.
    let words = [
        "run",
        "--detach",
        "--null-io",
        &name,
        "scx_old",
        "/program",
        "wait",
    ];
    fixture.daemon.ctr("schedkit", &words);
    let listed = fixture.list();
    let names: Vec<_> = listed
        .iter()
        .map(|container| container.name.as_str())
        .collect();
    assert_eq!(names, [ours.as_str(), "scx_old"]);
    assert_eq!(listed[1].record.scheduler, None);
    assert!(listed[1].pid().is_some());
    let old = listed[1].id.clone();
    let mut take = |piece: schedkit_runtime::OutputChunk<'_>| panic!("{piece:?}");
    let heard = fixture.driver.output(&old, Until::Now, &mut take);
    assert_eq!(fixture.runtime.block_on(heard).unwrap(), None);
    let end = fixture
        .driver
        .end(&old, Duration::from_millis(200), After::Remove);
    fixture.runtime.block_on(end).unwrap();
    fixture.end(&ours, After::Remove);
    assert!(fixture.list().is_empty());
    let snapshots = fixture.daemon.ctr("schedkit", &["snapshots", "ls"]);
    assert!(!snapshots.contains("scx_old"), "{snapshots}");
}

#[test]
fn what_does_not_exist_cannot_be_started_or_read() {
    let fixture = ContainerdFixture::fresh();
    let id = ContainerId::new("absent");
    let error = fixture
        .runtime
        .block_on(fixture.driver.start(&id))
        .unwrap_err();
    assert!(matches!(error, DriverError::NoContainer { .. }), "{error}");
    let mut take = |_: schedkit_runtime::OutputChunk<'_>| {};
    let listened = fixture.driver.output(&id, Until::Exit, &mut take);
    let error = fixture.runtime.block_on(listened).unwrap_err();
    assert!(matches!(error, DriverError::NoContainer { .. }), "{error}");
}

#[test]
fn reading_output_goes_on_when_containerd_is_restarted() {
    let mut fixture = ContainerdFixture::fresh();
    let id = fixture.run(&ImageRecipe::new("restart"), &["gently", "wait"]);
    let ContainerdFixture {
        daemon,
        driver,
        runtime,
    } = &mut fixture;
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
