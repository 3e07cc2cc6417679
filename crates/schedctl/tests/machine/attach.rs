//! `pull`, `logs` and `run --attach`: the image is here before it is needed, and what a scheduler
//! says is shown until it ends. containerd keeps both streams in one file, so that only words are
//! held against what was said, and not the stream.

use crate::ground::{Machine, PATIENCE, drivers_or, machine};
use crate::schema;

#[test]
fn what_was_pulled_need_not_be_fetched_again() {
    let machine = machine();
    machine.push(
        "odd/pulled",
        "1",
        "amd64",
        &["/scx_lab", "--name", "pulled"],
    );
    machine.host().sign_all("odd/pulled").unwrap();
    let image = machine.image("odd/pulled:1");
    for driver in drivers_or("containerd") {
        for result in ["pulled", "cached"] {
            let (code, said) = machine.json(&["-d", driver, "pull", &image]);
            assert_eq!((code, &said["result"]), (0, &result.into()), "{said:#}");
            schema::check("pull", &said);
        }
        machine.must_be_clean(driver);
        let (code, run) = machine.json(&["-d", driver, "run", &image]);
        assert_eq!((code, &run["pulled"]), (0, &false.into()), "{run:#}");
        schema::check("run", &run);
        machine.must(&["-d", driver, "stop", "pulled"]);
    }
}

/// Two who listen: one until somebody stops the scheduler, one until it ends by itself.
#[test]
fn whoever_follows_the_log_is_done_when_the_scheduler_is() {
    let machine = machine();
    for driver in drivers_or("podman") {
        machine.must(&["-d", driver, "run", "scx_lab"]);
        let follow = ["schedctl", "-d", driver, "logs", "--follow"];
        let job = machine.node().background(&follow).unwrap();
        machine.eventually("the log is shown", || {
            job.so_far().unwrap().stdout.contains("lab: attached as")
        });
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        let said = job.wait(PATIENCE).unwrap();
        assert_eq!(said.status, 0, "{}", said.text());
        assert!(
            said.text().contains("EXIT: unregistered from user space"),
            "{}",
            said.text()
        );
    }
}

#[test]
fn whoever_stays_sees_all_and_ends_with_the_schedulers_code() {
    let machine = machine();
    for driver in drivers_or("containerd") {
        let run = ["-d", driver, "run", "scx_lab", "--attach", "--"];
        let fault = ["--fault", "exit", "--after", "3s"];
        let said = machine.schedctl(&[&run[..], &fault].concat());
        assert_eq!(said.status, 3, "{}", said.text());
        assert!(
            said.stdout.contains("lab: attached as \"lab\""),
            "{}",
            said.text()
        );
        assert!(
            said.text().contains("leaving with exit code 3"),
            "{}",
            said.text()
        );
        machine.must_be_clean(driver);
    }
}

#[test]
fn ctrl_c_ends_the_scheduler_that_is_stayed_with() {
    let machine = machine();
    for driver in drivers_or("podman") {
        let said = interrupted(&machine, driver);
        assert!(
            said.text().contains("EXIT: unregistered from user space"),
            "{}",
            said.text()
        );
        assert_eq!(said.status, 0, "{}", said.text());
        machine.must_be_clean(driver);
    }
}

fn interrupted(machine: &Machine, driver: &str) -> lab::CommandOutput {
    let run = ["schedctl", "-d", driver, "run", "scx_lab", "--attach"];
    let job = machine.node().background(&run).unwrap();
    machine.eventually("it stays", || {
        job.so_far().unwrap().stdout.contains("lab: attached as")
    });
    job.kill("INT").unwrap();
    job.wait(PATIENCE).unwrap()
}
