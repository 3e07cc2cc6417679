//! `logs` with a fake Podman.

use serde_json::json;

use crate::Fixture;
use crate::fake_podman::{FakePodman, frame};
use crate::stop::running;

/// Podman with one container, and with this output of it.
pub(crate) fn podman_with_output(fixture: &Fixture, output: String) -> FakePodman {
    let one = running("0123456789ab", "scx_lab");
    let list = json!([one]).to_string();
    let inspected = json!({"State": {"Status": "running", "Pid": 12}}).to_string();
    FakePodman::listen(&fixture.path("podman.sock"), move |line| {
        if line.contains("/logs") {
            (200, output.clone())
        } else if line.contains("/containers/json") {
            (200, list.clone())
        } else {
            (200, inspected.clone())
        }
    })
}

#[test]
fn the_last_lines_keep_the_times_that_the_scheduler_wrote() {
    let own = "2026-01-31T08:00:00Z attached\n2026-01-31T08:00:01Z 7 tasks\n";
    let fixture = Fixture::new();
    let _podman = podman_with_output(&fixture, frame(1, own));
    let output = fixture.run("logs --tail 9 --socket podman.sock");
    assert_eq!(
        (output.code, output.out.as_str()),
        (0, own),
        "{}",
        output.err
    );
}

#[test]
fn only_the_time_that_podman_wrote_is_taken_away() {
    let times = |text: &str| frame(1, &format!("2026-01-31T08:00:02Z {text}\n"));
    let own = "2026-01-31T08:00:00Z attached";
    let fixture = Fixture::new();
    let _podman = podman_with_output(&fixture, times(own) + &times("plain"));
    let since = "logs --since 2026-01-31T08:00:02Z --socket podman.sock";
    let output = fixture.run(since);
    let expected = format!("{own}\nplain\n");
    assert_eq!((output.code, output.out), (0, expected), "{}", output.err);
}
