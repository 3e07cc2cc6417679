//! Podman's socket accepts and never answers: each command ends by itself, with one sentence.

use std::os::unix::net::UnixListener;
use std::thread;

use crate::Fixture;

#[test]
fn commands_end_while_podman_does_not_answer() {
    let fixture = Fixture::new();
    // The kernel accepts connections to it.
    let _socket = UnixListener::bind(fixture.path("podman.sock")).unwrap();
    let fixture = &fixture;
    thread::scope(|scope| {
        for (command, attempt) in [
            ("ps", "list its containers"),
            ("status", "list its containers"),
            ("logs", "list its containers"),
            ("logs scx_lab", "list its containers"),
            ("stop scx_lab --dry-run", "list its containers"),
            ("images", "list its images"),
            ("prune --dry-run", "list its images"),
        ] {
            scope.spawn(move || {
                let output =
                    fixture.run(&format!("{command} --driver podman --socket podman.sock"));
                assert_eq!(output.code, 1, "{command}: {}", output.err);
                let sentence = format!("Podman did not {attempt} within 10 s");
                let told = output.err.matches(&sentence).count();
                assert_eq!(told, 1, "{command}: {}", output.err);
            });
        }
    });
}
