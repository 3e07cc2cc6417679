//! `events`, `wait` and `detach` with a kernel that attaches and lets go.

use serde_json::Value;

use crate::ground::{PATIENCE, machine};

#[test]
fn what_the_kernel_attaches_and_detaches_is_told_line_by_line() {
    let machine = machine();
    let node = machine.node();
    let before = machine.enable_seq();
    let events = node.background(&["schedctl", "events", "-o", "json"]);
    let events = events.unwrap();
    let comes = [
        "schedctl",
        "wait",
        "--attached",
        "scx_lab",
        "--timeout",
        "2m",
    ];
    let comes = node.background(&comes).unwrap();
    machine.must(&["run", "scx_lab"]);
    let said = comes.wait(PATIENCE).unwrap();
    assert_eq!(said.status, 0, "{}", said.text());
    let goes = ["schedctl", "wait", "--detached", "--timeout", "2m"];
    let goes = node.background(&goes).unwrap();
    assert_eq!(goes.ended().unwrap(), None);
    machine.must(&["stop", "scx_lab"]);
    let said = goes.wait(PATIENCE).unwrap();
    assert_eq!(said.status, 0, "{}", said.text());
    machine.until("the detach was told", |_| {
        events.so_far().unwrap().stdout.contains("detached")
    });
    events.kill("INT").unwrap();
    let said = events.wait(PATIENCE).unwrap();
    assert_eq!(said.status, 0, "{}", said.text());
    let lines = said.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect(line);
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        (text("event"), text("ops"), line["enable_seq"].as_u64())
    });
    let lab = |event: &str| (event.to_owned(), "lab_1.1.0".to_owned(), Some(before + 1));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [lab("attached"), lab("detached")]
    );
}

#[test]
fn waiting_in_vain_is_trouble() {
    let machine = machine();
    let said = machine.schedctl(&["wait", "--attached", "--timeout", "1s"]);
    assert_eq!(said.status, 1, "{}", said.text());
    assert!(
        said.stderr.contains("was not attached within 1s"),
        "{}",
        said.stderr
    );
    machine.must(&["run", "scx_lab"]);
    for words in [&["--attached", "scx_bpfland"][..], &["--detached"]] {
        let words = [&["wait", "--timeout", "1s"], words].concat();
        let said = machine.schedctl(&words);
        assert_eq!(said.status, 1, "{}", said.text());
        assert!(
            said.stderr.contains("the kernel has lab_1.1.0 attached"),
            "{}",
            said.stderr
        );
    }
    machine.must(&["wait", "--attached", "scx_lab", "--timeout", "1s"]);
}

#[test]
fn a_forced_detach_is_told_with_its_reason() {
    let machine = machine();
    machine.must(&["run", "scx_lab"]);
    let said = machine.schedctl(&["detach"]);
    assert_eq!(said.status, 1, "{}", said.text());
    assert_eq!(machine.ops().as_deref(), Some("lab_1.1.0"));
    let (code, said) = machine.json(&["detach", "--force"]);
    assert_eq!((code, &said["ops"]), (0, &"lab_1.1.0".into()), "{said}");
    machine.await_default();
    machine.until("its process has ended", |machine| {
        machine.status("podman") == (0, "idle".to_owned())
    });
    let logs = machine.schedctl(&["logs", "scx_lab"]).text();
    assert!(logs.contains("disabled by sysrq-S"), "{logs}");
    let told = machine.told();
    assert!(told.contains("is left over"), "{told}");
    let (code, said) = machine.json(&["detach", "--force"]);
    assert_eq!(
        (code, &said["result"]),
        (0, &"nothing-attached".into()),
        "{said}"
    );
    machine.must(&["run", "scx_lab"]);
    assert_eq!(machine.containers(), 1);
}
