//! `pull`, `logs --follow` and `run --attach` through both drivers.

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};
use testkit::schema;
use testkit::wait::NODE_TIMEOUT;

#[test]
fn what_was_pulled_is_not_fetched_again() {
    let machine = machine_with_bpfland();
    machine.push("odd/pulled", "1", &["/scx_lab", "--name", "pulled"]);
    machine.sign("odd/pulled");
    let image = machine.image("odd/pulled:1");
    for driver in DRIVERS {
        for result in ["pulled", "cached"] {
            let (code, output) = machine.json(&["-d", driver, "pull", &image]);
            assert_eq!((code, &output["result"]), (0, &result.into()), "{output:#}");
            schema::check(&output, &["pull"]);
        }
        machine.must_be_idle(driver);
        let (code, run) = machine.json(&["-d", driver, "run", &image]);
        assert_eq!((code, &run["pulled"]), (0, &false.into()), "{run:#}");
        schema::check(&run, &["run"]);
        machine.must(&["-d", driver, "stop", "pulled"]);
    }
}

#[test]
fn logs_follow_ends_with_the_scheduler() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        machine.must(&["-d", driver, "run", "scx_lab"]);
        let follow = ["schedctl", "-d", driver, "logs", "--follow"];
        let job = machine.node().background(&follow).unwrap();
        machine.until("the log is shown", || {
            job.so_far().unwrap().stdout.contains("lab: attached as")
        });
        machine.must(&["-d", driver, "stop", "scx_lab"]);
        let output = job.wait(NODE_TIMEOUT).unwrap();
        assert_eq!(output.status, 0, "{}", output.text());
        assert!(
            output.text().contains("EXIT: unregistered from user space"),
            "{}",
            output.text()
        );
    }
}

#[test]
fn attach_shows_everything_and_ends_with_the_schedulers_exit_code() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let run = ["-d", driver, "run", "scx_lab", "--attach", "--"];
        let fault = ["--fault", "exit", "--after", "3s"];
        let output = machine.schedctl(&[&run[..], &fault].concat());
        assert_eq!(output.status, 3, "{}", output.text());
        assert!(
            output.stdout.contains("lab: attached as \"lab\""),
            "{}",
            output.text()
        );
        assert!(
            output.text().contains("leaving with exit code 3"),
            "{}",
            output.text()
        );
        machine.must_be_idle(driver);
    }
}

#[test]
fn ctrl_c_ends_the_attached_scheduler() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let output = interrupted(&machine, driver);
        assert!(
            output.text().contains("EXIT: unregistered from user space"),
            "{}",
            output.text()
        );
        assert_eq!(output.status, 0, "{}", output.text());
        machine.must_be_idle(driver);
    }
}

fn interrupted(machine: &Machine, driver: &str) -> lab::CommandOutput {
    let run = ["schedctl", "-d", driver, "run", "scx_lab", "--attach"];
    let job = machine.node().background(&run).unwrap();
    machine.until("its output is shown", || {
        job.so_far().unwrap().stdout.contains("lab: attached as")
    });
    job.kill("INT").unwrap();
    job.wait(NODE_TIMEOUT).unwrap()
}
