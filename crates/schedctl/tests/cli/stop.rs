//! `stop` without changing anything: which container it finds, with a fake Podman.

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
