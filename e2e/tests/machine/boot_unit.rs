//! The command line of the systemd unit, which is `run --attach`. The crate's unit tests put the
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
