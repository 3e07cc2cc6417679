//! One runtime answers, the other one does not.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::*;
use crate::runtimes::Endpoint;

/// Podman's service with one container that runs.
fn serve_podman(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let body = r#"[{"Id": "0123456789ab", "Names": ["schedkit-lab"], "State": "running",
                "Pid": 12, "Image": "a.example/scx_lab:1.0", "Labels": {"provider": "schedkit",
                "io.schedkit.scheduler": "scx_lab"}}]"#;
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 -\r\nLibpod-Api-Version: 5.4.0\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
        }
    });
}

fn endpoint(runtime: Runtime, folder: &tempfile::TempDir, socket: &str) -> Endpoint {
    let socket = folder.path().join(socket);
    Endpoint { runtime, socket }
}

/// containerd's socket belongs to something else: an answer that is an error at once.
#[tokio::test]
async fn a_runtime_that_does_not_answer_does_not_hide_what_runs_in_the_other_one() {
    let folder = tempfile::tempdir().unwrap();
    serve_podman(&folder.path().join("podman.sock"));
    serve_podman(&folder.path().join("strange.sock"));
    let podman = endpoint(Runtime::Podman, &folder, "podman.sock");
    let containerd = endpoint(Runtime::Containerd, &folder, "strange.sock");
    let root = HostRoot::at(folder.path());
    let state = StateDir::at(folder.path().join("run"));
    for (chosen, other) in [
        (podman.clone(), containerd.clone()),
        (containerd.clone(), podman.clone()),
    ] {
        let runtimes = Runtimes { chosen, other };
        let seen = observe_reachable(&root, &state, &runtimes).await.unwrap();
        let ids = seen.observed.containers.iter();
        let ids: Vec<_> = ids.map(|one| one.container.id.as_str()).collect();
        assert_eq!(ids, ["0123456789ab"]);
        assert_eq!(seen.answered, [Runtime::Podman]);
        assert_eq!(seen.unread.len(), 1, "{:?}", seen.unread);
        // What starts something has to know everything.
        let error = observe(&root, &state, &runtimes).await.unwrap_err();
        assert!(matches!(error, ObserveError::Driver(_)), "{error:?}");
    }
}
