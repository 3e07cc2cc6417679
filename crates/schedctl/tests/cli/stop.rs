//! `stop` with a fake Podman: which container it finds, and what it asks of Podman.

use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::Fixture;
use crate::fake_podman::FakePodman;

pub(crate) fn running(id: &str, scheduler: &str) -> Value {
    json!({
        "Id": id, "Names": [format!("schedkit-{scheduler}")], "State": "running", "Pid": 12,
        "Image": format!("a.example/{scheduler}:1.0"),
        "Labels": {"provider": "schedkit", "io.schedkit.scheduler": scheduler},
    })
}

fn podman_with(containers: &[Value]) -> (Fixture, FakePodman) {
    let fixture = Fixture::new();
    let body = Value::from(containers).to_string();
    let socket = fixture.path("podman.sock");
    let podman = FakePodman::listen(&socket, move |_| (200, body.clone()));
    (fixture, podman)
}

const STOP: &str = "stop --dry-run --socket podman.sock -o json";

#[test]
fn without_a_name_the_one_that_runs_is_stopped() {
    let (fixture, _podman) = podman_with(&[running("0123456789ab", "scx_lab")]);
    let output = fixture.run(STOP);
    assert_eq!(output.code, 0, "{}", output.err);
    let document = output.json();
    schedctl_schemas::check("stop", &document);
    assert_eq!(document["result"], "planned");
    assert_eq!(document["container_id"], "0123456789ab");
}

#[test]
fn without_a_name_several_are_named_and_none_is_a_success() {
    let two = [
        running("0123456789ab", "scx_a"),
        running("ba9876543210", "scx_b"),
    ];
    let (fixture, _podman) = podman_with(&two);
    let output = fixture.run(STOP);
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("scx_a, scx_b"), "{}", output.err);
    let (fixture, _podman) = podman_with(&[]);
    let output = fixture.run(STOP);
    assert_eq!(output.code, 0, "{}", output.err);
    let document = output.json();
    schedctl_schemas::check("stop", &document);
    assert_eq!(document["result"], "not-there");
    assert!(document["scheduler"].is_null(), "{document}");
    let warning = document["warnings"][0].to_string();
    assert!(
        warning.contains("no scheduler of schedctl runs"),
        "{warning}"
    );
}

/// A container of the Go schedctl: one label, and the name of its scheduler.
fn of_the_go_schedctl(pid: u32) -> Value {
    json!({
        "Id": "0123456789ab", "Names": ["scx_lab"], "State": "running", "Pid": pid,
        "Image": "a.example/schedkit/scx_lab:latest", "Labels": {"provider": "schedkit"},
    })
}

/// Podman with that container, whose process is a real one.
fn go_podman(fixture: &Fixture) -> FakePodman {
    let process = Command::new("sleep").arg("1000").spawn().unwrap();
    let list = json!([of_the_go_schedctl(process.id())]).to_string();
    let (pid, process) = (process.id(), Arc::new(Mutex::new(process)));
    FakePodman::listen(&fixture.path("podman.sock"), move |line| {
        let mut process = process.lock().unwrap();
        if line.contains("/kill?") {
            process.kill().unwrap();
            process.wait().unwrap();
            return (204, String::new());
        }
        if line.starts_with("DELETE") {
            return (200, "[]".to_owned());
        }
        if line.contains("/containers/json") {
            return (200, list.clone());
        }
        let status = match process.try_wait().unwrap() {
            None => json!({"Status": "running", "Pid": pid}),
            Some(_) => json!({"Status": "exited"}),
        };
        let config = json!({"Labels": {"provider": "schedkit"}});
        (
            200,
            json!({"Name": "scx_lab", "State": status, "Config": config}).to_string(),
        )
    })
}

#[test]
fn a_container_of_the_go_schedctl_is_stopped_and_removed_without_force() {
    let fixture = Fixture::new();
    let podman = go_podman(&fixture);
    let output = fixture.run_with_own_state("true", "stop scx_lab --socket podman.sock -o json");
    assert_eq!(output.code, 0, "{}{}", output.out, output.err);
    let document = output.json();
    schedctl_schemas::check("stop", &document);
    assert_eq!(document["result"], "stopped");
    let requests = podman.requests();
    let position = |part: &str| requests.iter().position(|line| line.contains(part));
    let (kill, delete) = (position("/kill?signal=15"), position("DELETE"));
    assert!(kill.is_some() && kill < delete, "{requests:#?}");
    assert!(
        requests[delete.unwrap()].ends_with("/containers/0123456789ab"),
        "{requests:#?}"
    );
}

#[test]
fn a_trial_of_an_older_schedctl_keeps_nobody_from_stopping() {
    let fixture = Fixture::new();
    let _podman = go_podman(&fixture);
    let old = r#"{"scheduler":"scx_old","runtime":"podman","candidate":"feed","before":null,
        "length":{"secs":60,"nanos":0},"until":"2026-01-02T03:04:05Z","boot_id":null,
        "stage":"starting","failed":null}"#;
    fixture.write("old.json", old);
    let prepare = "mkdir -m 700 /run/schedctl && cp old.json /run/schedctl/trial.json";
    let stop = "stop scx_lab --socket podman.sock -o json";
    let output = fixture.run_with_own_state(prepare, stop);
    assert_eq!(output.code, 0, "{}{}", output.out, output.err);
    let document = output.json();
    assert_eq!(document["result"], "stopped");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("/run/schedctl/trial.json"), "{warnings}");
    assert!(warnings.contains("deadline"), "{warnings}");
}
