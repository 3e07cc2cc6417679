//! What the end-to-end tests share: an order with this checkout's folders, and patience.

#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab::{CommandOutput, Event, Lab, LabSpec, Scheduler, Topology};

/// The `lab` program under test.
pub(crate) const LAB: &str = env!("CARGO_BIN_EXE_lab");

/// Where labs of tests keep their state.
pub(crate) fn state_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.lab")
}

/// An order for a lab of a test.
pub(crate) fn order(name: &str, topology: Topology, nodes: u8) -> LabSpec {
    LabSpec {
        nodes,
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..LabSpec::new(name, topology, &state_folder())
    }
}

/// Brings a lab up and tells the test's log how it went.
pub(crate) fn up(order: &LabSpec) -> Lab {
    Lab::up(order, |event| match event {
        Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
        Event::Ready { .. } | Event::Failed { .. } => {}
    })
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Asks until the answer is there.
pub(crate) fn eventually<T>(what: &str, patience: Duration, ask: impl FnMut() -> Option<T>) -> T {
    eventually_or(what, patience, ask, String::new)
}

/// Asks until the answer is there; when it never comes, `explain` says what stood in its way, for
/// whoever reads the log of a run that is over.
pub(crate) fn eventually_or<T>(
    what: &str,
    patience: Duration,
    mut ask: impl FnMut() -> Option<T>,
    explain: impl FnOnce() -> String,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        if begin.elapsed() >= patience {
            panic!("{what}: not within {patience:?}\n{}", explain());
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// What a cluster looks like from the outside: its pods, their last words, its events and what
/// the kernel of each node said.
pub(crate) fn picture(lab: &Lab) -> String {
    let mut picture = String::new();
    for words in [
        "get nodes,daemonsets,pods -A -o wide",
        "describe pods",
        "get events --sort-by=.lastTimestamp",
    ] {
        let said = kubectl(lab, &words.split(' ').collect::<Vec<_>>());
        picture += &format!("--- kubectl {words}\n{}{}", said.stdout, said.stderr);
    }
    for node in &lab.running().nodes {
        let script = "cat /sys/kernel/sched_ext/state /proc/loadavg; dmesg | tail -n 40; \
                      ps -eo pid,stat,wchan:32,etime,args | grep scx_ | grep -v grep; \
                      tail -n 5 /var/log/pods/*/*/*.log; tail -n 15 /var/log/kubelet.log";
        let said = lab
            .node(&node.name)
            .map(|node| node.run(&["sh", "-c", script]));
        picture += &match said {
            Ok(Ok(said)) => format!("--- {}\n{}{}", node.name, said.stdout, said.stderr),
            other => format!("--- {}: {other:?}\n", node.name),
        };
    }
    picture
}

/// Runs `kubectl` to its end.
pub(crate) fn kubectl(lab: &Lab, words: &[&str]) -> CommandOutput {
    let output = lab
        .kubectl()
        .unwrap()
        .args(words)
        .output()
        .expect("kubectl runs");
    CommandOutput {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
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
