//! A started container: its user, its arguments, its privileges and namespaces.

use schedkit_runtime::{After, ContainerState, Driver, DriverError, ExitCode};
use serde_json::json;

use testkit::containerd::image::ImageRecipe;
use testkit::containerd::{ContainerdFixture, REPOSITORY, registry, trusted};

#[test]
fn a_scheduler_is_root_on_the_host_and_gets_its_arguments_unchanged() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("words");
    recipe.process["User"] = json!("1234:99");
    recipe.process["WorkingDir"] = json!("/somewhere");
    recipe.process["Cmd"] = json!(["say", "never"]);
    let args = [
        "say",
        "two words",
        "say",
        "two\nlines",
        "say",
        "",
        "say",
        "$HOME 'x' \"y\"",
        "whoami",
        "where",
        "see",
        "/var/run/scx",
        "see",
        "/dev/null",
        "touch",
        "/var/run/scx/.program",
        "touch",
        "/boot/.program",
        "show",
        "/proc/self/status",
        "exit",
        "3",
    ];
    let id = fixture.run(&recipe, &args);
    let (said, code) = fixture.output(&id);
    assert_eq!(code, Some(ExitCode(3)), "{said}");
    for expected in [
        "[two words]\n",
        "[two\nlines]\n",
        "[]\n",
        "[$HOME 'x' \"y\"]\n",
        "uid=0 gid=0 ",
        "cwd=/somewhere\n",
        "/var/run/scx there\n",
        "/dev/null there\n",
        "/var/run/scx/.program written\n",
        "/boot/.program refused\n",
        "Seccomp:\t0\n",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in {said}");
    }
    assert!(!said.contains("never"), "{said}");
    // All capabilities that we could give, and the host's process numbers.
    let line = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.unwrap().to_owned()
    };
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    assert_eq!(
        line(&said, "CapEff"),
        line(&own, "CapBnd").replace("CapBnd", "CapEff")
    );
    assert!(!said.contains(" pid=1\n"), "{said}");
    std::fs::remove_file("/var/run/scx/.program").unwrap();
    let [container] = &fixture.list()[..] else {
        panic!("there is one");
    };
    assert_eq!(container.state, ContainerState::Exited(ExitCode(3)));
    assert_eq!(container.record.args, args);
}

#[test]
fn both_streams_are_kept_in_order_and_to_the_last_line() {
    let fixture = ContainerdFixture::fresh();
    let args = [
        "say", "a", "complain", "b", "say", "c", "flood", "complain", "end",
    ];
    let id = fixture.run(&ImageRecipe::new("streams"), &args);
    let (said, code) = fixture.output(&id);
    assert_eq!(code, Some(ExitCode(0)));
    assert!(said.contains("line 0\n"), "{}", &said[..100]);
    assert!(said.contains("line 99999\n"));
    assert!(said.contains("<b>\n") && said.contains("<end>\n"));
    // A second listener hears the same, now that all is over.
    assert_eq!(fixture.output(&id), (said, code));
}

#[test]
fn a_container_can_be_started_again_with_an_empty_log() {
    let fixture = ContainerdFixture::fresh();
    let id = fixture.run(&ImageRecipe::new("again"), &["gently", "whoami", "wait"]);
    fixture.await_waiting(&id);
    let first = fixture.list()[0].pid().unwrap();
    fixture.start(&id);
    assert_eq!(
        fixture.list()[0].pid(),
        Some(first),
        "what runs is not started again"
    );
    fixture.end(&id, After::Keep);
    assert_eq!(fixture.list()[0].state, ContainerState::Exited(ExitCode(7)));
    fixture.start(&id);
    fixture.await_waiting(&id);
    let ContainerState::Running { pid, started } = fixture.list()[0].state.clone() else {
        panic!("it runs");
    };
    assert_ne!(pid, first);
    let age = jiff::Timestamp::now().duration_since(started.unwrap());
    assert!((-5..3600).contains(&age.as_secs()), "{age}");
    fixture.end(&id, After::Keep);
    let (said, _) = fixture.output(&id);
    assert_eq!(said.matches("waiting\n").count(), 1, "{said}");
    assert!(said.contains(&format!("pid={pid}\n")), "{said}");
}

#[test]
fn an_image_without_entrypoint_or_program_is_refused() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("empty");
    recipe.process = json!({"Env": ["PATH=/"]});
    let digest = recipe.push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    fixture.pull(&image);
    let error = fixture.create(&image, &["x"]).unwrap_err();
    assert!(matches!(error, DriverError::NoEntrypoint { .. }), "{error}");
    assert!(fixture.list().is_empty());

    recipe.process = json!({"Entrypoint": ["/absent"]});
    let id = fixture.make(&recipe, &[]);
    let ready = fixture.runtime.block_on(fixture.driver.prepare(&id));
    let started = fixture.runtime.block_on(fixture.driver.start(&id));
    for tried in [ready, started] {
        let said = tried.unwrap_err().to_string();
        assert!(
            said.contains("/absent") && said.contains("no such file"),
            "{said}"
        );
    }
    // It is there, not running, and goes like any other.
    assert_eq!(fixture.list()[0].state, ContainerState::Created);
    fixture.end(&id, After::Remove);
    assert!(fixture.list().is_empty());
}

#[test]
fn what_is_ready_runs_nothing_until_it_is_started() {
    let fixture = ContainerdFixture::fresh();
    let id = fixture.make(&ImageRecipe::new("ready"), &["say", "there", "exit", "7"]);
    let ready = || fixture.runtime.block_on(fixture.driver.prepare(&id));
    let state = || fixture.list().pop().unwrap().state;
    // Once more is the same.
    for _ in 0..2 {
        ready().unwrap();
        assert_eq!(state(), ContainerState::Created);
    }
    fixture.start(&id);
    assert_eq!(
        fixture.output(&id),
        ("[there]\n".to_owned(), Some(ExitCode(7)))
    );
    // One that has ended can be made ready again, and need not start.
    ready().unwrap();
    assert_eq!(state(), ContainerState::Created);
    fixture.end(&id, After::Remove);
    assert_eq!(fixture.list(), []);
    assert!(matches!(ready(), Err(DriverError::NoContainer { .. })));
}
