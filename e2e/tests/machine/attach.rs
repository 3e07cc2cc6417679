//! `run --attach`: it shows the scheduler's output and ends with its exit code.

use testkit::machine::machine;

#[test]
fn attach_shows_everything_and_ends_with_the_schedulers_exit_code() {
    let machine = machine();
    let run = ["-d", "containerd", "run", "scx_lab", "--attach", "--"];
    let fault = ["--fault", "exit", "--after", "5s"];
    let output = machine.schedctl(&[&run[..], &fault].concat());
    assert_eq!(output.status, 3, "{}", output.text());
    for part in ["lab: attached as \"lab\"", "leaving with exit code 3"] {
        assert!(output.text().contains(part), "{}", output.text());
    }
    machine.must_be_idle("containerd");
}
