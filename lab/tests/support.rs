//! What the end-to-end tests share: an order with this checkout's folders, and patience.

#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab::{Event, Ground, Lab, Order, Said, Scheduler};

/// The `lab` program under test.
pub(crate) const LAB: &str = env!("CARGO_BIN_EXE_lab");

/// Where labs of tests keep their state.
pub(crate) fn state_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.lab")
}

/// An order for a lab of a test.
pub(crate) fn order(name: &str, ground: Ground, nodes: u8) -> Order {
    Order {
        nodes,
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..Order::new(name, ground, &state_folder())
    }
}

/// Brings a lab up and tells the test's log how it went.
pub(crate) fn up(order: &Order) -> Lab {
    Lab::up(order, |event| match event {
        Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
        Event::Ready { .. } | Event::Failed { .. } => {}
    })
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Asks until the answer is there.
pub(crate) fn eventually<T>(
    what: &str,
    patience: Duration,
    mut ask: impl FnMut() -> Option<T>,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            begin.elapsed() < patience,
            "{what}: not within {patience:?}"
        );
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// Runs `kubectl` to its end.
pub(crate) fn kubectl(lab: &Lab, words: &[&str]) -> Said {
    let output = lab
        .kubectl()
        .unwrap()
        .args(words)
        .output()
        .expect("kubectl runs");
    Said {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}

/// Gives the API server something to keep.
pub(crate) fn apply(lab: &Lab, manifest: &str) {
    use std::io::Write;
    let mut kubectl = lab
        .kubectl()
        .unwrap()
        .args(["apply", "-f", "-"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("kubectl starts");
    kubectl
        .stdin
        .take()
        .expect("a pipe")
        .write_all(manifest.as_bytes())
        .expect("kubectl reads");
    assert!(
        kubectl.wait().expect("kubectl ends").success(),
        "kubectl apply:\n{manifest}"
    );
}
