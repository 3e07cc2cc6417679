//! What systemd would start: the unit's own command line. How the unit is put in its place is
//! tested beside `cmd/enable.rs`.

use crate::ground::{PATIENCE, machine};

const UNIT: &str = include_str!("../../systemd/schedctl@.service");

#[test]
fn the_units_command_attaches_and_goes_when_it_is_asked_to() {
    let machine = machine();
    let line = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let line = line.unwrap().replace("%I", "scx_lab");
    let line = line.replace("/usr/bin/", "/usr/local/bin/");
    let words: Vec<&str> = line.split(' ').collect();
    let service = machine.node().background(&words).unwrap();
    machine.await_ops("lab");
    assert_eq!(machine.status("podman"), (0, "running".to_owned()));
    // The one who stays keeps nobody from changing what runs.
    let (code, said) = machine.json(&["run", "scx_lab"]);
    let already = "already-running".into();
    assert_eq!((code, &said["result"]), (0, &already), "{said}");
    service.kill("TERM").unwrap();
    let said = service.wait(PATIENCE).unwrap();
    assert_eq!(said.status, 0, "{}", said.text());
    assert_eq!((machine.ops(), machine.containers()), (None, 0));
}
