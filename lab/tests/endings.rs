//! However a lab ends, nothing of it is left, and the next one comes up.

#![cfg(test)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::environment::cache_folder;
use rustix::process::{Pid, Signal, kill_process};
use support::{LAB, eventually};

/// What the kernel needs to clear a namespace, with room for a busy machine.
const SOON: Duration = Duration::from_secs(5);

/// A `lab up` that carries a mark in its environment, which everything it starts inherits.
struct Marked {
    process: Child,
    mark: String,
}

impl Marked {
    fn up(name: &str, folder: &Path, cache: &Path, words: &[&str]) -> Self {
        let mark = format!("SCHEDKIT_TEST_MARK={name}-{}", std::process::id());
        let (key, value) = mark.split_once('=').unwrap();
        // Whoever runs the tests in the background made them deaf to Ctrl-C; the lab must not be.
        let process = Command::new("env")
            .args(["--default-signal=INT", LAB])
            .env(key, value)
            .env("SCHEDKIT_LAB_STATE", folder)
            .env("SCHEDKIT_CACHE", cache)
            .args(["--name", name, "up"])
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process, mark }
    }

    /// Waits until a step of that name begins.
    fn until(&mut self, step: &str) {
        let lines = BufReader::new(self.process.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        for line in lines.map_while(Result::ok) {
            if line.contains(step) {
                return;
            }
            seen.push(line);
        }
        panic!("no step {step:?} in {seen:#?}");
    }

    fn signal(&mut self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
        self.process.wait().unwrap();
    }

    /// The processes that carry the mark.
    fn left(&self) -> Vec<String> {
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let environment = fs::read(path.join("environ")).ok()?;
                let marked = environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == self.mark.as_bytes());
                marked.then(|| {
                    fs::read_to_string(path.join("comm"))
                        .unwrap_or_default()
                        .trim()
                        .to_owned()
                })
            })
            .collect()
    }

    fn assert_gone(&self) {
        let begin = Instant::now();
        while !self.left().is_empty() {
            assert!(
                begin.elapsed() < SOON,
                "still there after {SOON:?}: {:?}",
                self.left()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        println!("nothing left after {:?}", begin.elapsed());
    }
}

/// Kills `lab up` when a step begins; something must have been running by then.
fn kill_at(name: &str, folder: &Path, cache: &Path, words: &[&str], step: &str, what_runs: &str) {
    let mut lab = Marked::up(name, folder, cache, words);
    lab.until(step);
    eventually(
        &format!("{what_runs} runs"),
        Duration::from_secs(60),
        || {
            lab.left()
                .iter()
                .any(|program| program.starts_with(what_runs))
                .then_some(())
        },
    );
    lab.signal(Signal::KILL);
    lab.assert_gone();
}

#[test]
fn killed_at_three_moments_and_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let cold = folder.path().join("cold");
    let warm = cache_folder();
    let cluster = ["--nodes", "1"];
    kill_at(
        "killed",
        &state,
        &cold,
        &["--topology", "control-plane"],
        "building etcd",
        "go",
    );
    kill_at(
        "killed",
        &state,
        &warm,
        &cluster,
        "starting the control plane",
        "kube-apiserver",
    );
    kill_at(
        "killed",
        &state,
        &warm,
        &cluster,
        "booting node1",
        "qemu-system",
    );
    let mut lab = Marked::up("killed", &state, &warm, &["--topology", "control-plane"]);
    let mut ready = String::new();
    BufReader::new(lab.process.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    assert_eq!(ready, "The lab \"killed\" is ready.\n");
    lab.signal(Signal::INT);
    lab.assert_gone();
}

#[test]
fn a_detached_lab_outlives_its_command_until_it_is_taken_down() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Marked::up(
        "detached",
        folder.path(),
        &cache_folder(),
        &["--topology", "control-plane", "--detach"],
    );
    assert!(lab.process.wait().unwrap().success());
    assert!(
        lab.left().iter().any(|program| program == "kube-apiserver"),
        "{:?}",
        lab.left()
    );
    let run = |verb: &str| {
        Command::new(LAB)
            .env("SCHEDKIT_LAB_STATE", folder.path())
            .args(["--name", "detached", verb])
            .output()
            .unwrap()
    };
    assert!(run("status").status.success());
    let second = Marked::up(
        "detached",
        folder.path(),
        &cache_folder(),
        &["--topology", "control-plane"],
    );
    let refused = second.process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("runs already"),
        "{said}"
    );
    assert!(run("down").status.success());
    lab.assert_gone();
    assert!(!run("status").status.success());
}

#[test]
fn a_killed_keeper_takes_everything_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Marked::up(
        "keeperless",
        folder.path(),
        &cache_folder(),
        &["--topology", "control-plane", "--detach"],
    );
    assert!(lab.process.wait().unwrap().success());
    let keeper = lab::State::new(folder.path().join("keeperless"))
        .supervisor_pid()
        .unwrap();
    kill_process(Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
    lab.assert_gone();
}
