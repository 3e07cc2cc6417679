//! `events` and `wait` with a kernel that attaches and detaches.

use serde_json::Value;
use testkit::machine::machine;
use testkit::wait::NODE_TIMEOUT;

#[test]
fn what_the_kernel_attaches_and_detaches_is_reported_line_by_line() {
    let machine = machine();
    let before = machine.enable_seq();
    let start = |args: &str| {
        let args: Vec<_> = args.split(' ').collect();
        machine.node().background(&args).unwrap()
    };
    let events = start("schedctl events -o json");
    let attached = start("schedctl wait --attached scx_lab --timeout 400s");
    machine.must(&["run", "scx_lab"]);
    let output = attached.wait(NODE_TIMEOUT).unwrap();
    assert_eq!(output.status, 0, "{}", output.text());
    // In vain: another scheduler, and the end of this one.
    for args in [&["--attached", "scx_other"][..], &["--detached"]] {
        let wait = [&["wait", "--timeout", "100ms"], args].concat();
        let error = machine.expect(1, &wait).to_string();
        assert!(error.contains("lab_1.1.0"), "{error}");
    }
    let detached = start("schedctl wait --detached --timeout 400s");
    machine.must(&["stop", "scx_lab"]);
    let output = detached.wait(NODE_TIMEOUT).unwrap();
    assert_eq!(output.status, 0, "{}", output.text());
    machine.until("the detach is reported", || {
        events.so_far().unwrap().stdout.contains("detached")
    });
    events.kill("INT").unwrap();
    let output = events.wait(NODE_TIMEOUT).unwrap();
    assert_eq!(output.status, 0, "{}", output.text());
    let lines = output.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect(line);
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        (text("event"), text("ops"), line["enable_seq"].as_u64())
    });
    let lab = |event: &str| (event.to_owned(), "lab_1.1.0".to_owned(), Some(before + 1));
    let expected = [lab("attached"), lab("detached")];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}
