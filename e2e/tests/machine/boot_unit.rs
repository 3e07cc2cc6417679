//! The command line of the systemd unit, which is `run --attach --enabled`. The crate's unit tests put the
//! unit in its place with the real systemctl.

use testkit::machine::machine;
use testkit::wait::NODE_TIMEOUT;

const UNIT: &str = include_str!("../../../crates/schedctl/systemd/schedctl@.service");

#[test]
fn the_units_command_attaches_and_ends_with_sigterm() {
    let machine = machine();
    let mut lines = UNIT.lines();
    let line = lines.find_map(|line| line.strip_prefix("ExecStart="));
    let line = line.unwrap().replace("%I", "scx_lab");
    let line = line.replace("/usr/bin/", "/usr/local/bin/");
    let args: Vec<&str> = line.split(' ').collect();
    let service = machine.node().background(&args).unwrap();
    machine.await_ops("lab");
    assert_eq!(machine.status("podman"), (0, "running".to_owned()));
    // It holds no lock: others can run commands meanwhile.
    let again = machine.expect(0, &["run", "scx_lab"]);
    assert_eq!(again["result"], "already-running", "{again}");
    let follow = ["schedctl", "logs", "--follow"];
    let follow = machine.node().background(&follow).unwrap();
    service.kill("TERM").unwrap();
    for ended in [service, follow] {
        let output = ended.wait(NODE_TIMEOUT).unwrap();
        assert_eq!(output.status, 0, "{}", output.text());
    }
    assert_eq!((machine.ops(), machine.containers()), (None, 0));
}

/// systemd restarts the unit after 4 and not after 0; 3 is the scheduler's own exit code here.
#[test]
fn the_units_exit_code_tells_an_unasked_end_from_a_stop() {
    let machine = machine();
    let unit = [
        "-d",
        "containerd",
        "run",
        "--attach",
        "--enabled",
        "scx_lab",
        "--",
    ];
    let fault = ["--fault", "exit", "--after", "5s"];
    let ended = machine.schedctl(&[&unit[..], &fault].concat());
    assert_eq!(ended.status, 4, "{}", ended.text());
    let part = "scx_lab was ejected or exited by itself with code 3";
    assert!(ended.text().contains(part), "{}", ended.text());
    let status = machine.expect(0, &["status"]);
    let warnings = status["warnings"].to_string();
    assert!(
        warnings.contains("is enabled at boot, and its unit failed"),
        "{warnings}"
    );

    let job = [&["schedctl"][..], &unit[..unit.len() - 1]].concat();
    let job = machine.node().background(&job).unwrap();
    machine.await_ops("lab");
    machine.expect(0, &["-d", "containerd", "stop", "scx_lab"]);
    let stopped = job.wait(NODE_TIMEOUT).unwrap();
    assert_eq!(stopped.status, 0, "{}", stopped.text());
    machine.must_be_idle("containerd");
}
