//! `run` of a scheduler that runs already: a success only if what runs is what was asked for.

use testkit::machine::{DRIVERS, Machine, machine_with_bpfland};

/// `run` with these arguments: the exit code, and a part of what it says in an error.
fn must_end(machine: &Machine, args: &[&str], code: i32, part: &str) {
    let seq = machine.enable_seq();
    let document = machine.expect(code, args);
    if code == 0 {
        assert_eq!(document["result"], "already-running", "{document:#}");
    } else {
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{args:?}: {message}");
    }
    assert_eq!(machine.enable_seq(), seq, "nothing was started");
}

#[test]
fn run_of_what_runs_succeeds_only_if_it_is_what_was_asked_for() {
    let machine = machine_with_bpfland();
    for driver in DRIVERS {
        let run = ["-d", driver, "run", "scx_lab"];
        let with = |more: &[&'static str]| [&run[..], more].concat();
        let stop = ["-d", driver, "stop", "scx_lab"];
        machine.must(&run);
        must_end(&machine, &run, 0, "");
        let other = "`schedctl switch` replaces it";
        must_end(&machine, &with(&["--", "--name", "lab_b"]), 5, other);
        must_end(&machine, &with(&["--version", "1.0.0"]), 5, other);
        must_end(&machine, &with(&["--trial", "1h"]), 5, "not on trial");
        machine.must(&stop);

        machine.must(&with(&["--trial", "1h"]));
        must_end(&machine, &run, 5, "keep it with `schedctl confirm`");
        must_end(&machine, &with(&["--trial", "1h"]), 0, "");
        machine.must(&stop);
        machine.await_no_trial();

        machine.push("nobody/unsigned", "1", &["/scx_lab"]);
        let unsigned = machine.image("nobody/unsigned:1");
        let run = ["-d", driver, "run", &unsigned];
        let waived = [&run[..], &["--allow-unsigned"]].concat();
        machine.must(&waived);
        must_end(&machine, &run, 3, "its image was not verified");
        must_end(&machine, &waived, 0, "");
        machine.must(&["-d", driver, "stop", "unsigned"]);
        machine.must_be_idle(driver);
    }
}
