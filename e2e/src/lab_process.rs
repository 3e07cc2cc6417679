//! The `lab` command as a process of its own, for tests of how labs end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::program;
use crate::wait::{TIMEOUT, eventually, eventually_or};

/// A `lab up` with a variable in its environment that everything it starts inherits.
pub struct LabProcess {
    pub process: Child,
    mark: String,
}

impl LabProcess {
    pub fn up(name: &str, folder: &Path, cache: &Path, args: &[&str]) -> Self {
        let mark = format!("SCHEDKIT_TEST_MARK={name}-{}", std::process::id());
        let (key, value) = mark.split_once('=').unwrap();
        // Tests that run in the background ignore SIGINT; the lab must not inherit that.
        let process = Command::new("env")
            .arg("--default-signal=INT")
            .arg(program::lab())
            .env(key, value)
            .env("SCHEDKIT_LAB_STATE", folder)
            .env("SCHEDKIT_CACHE", cache)
            .args(["--name", name, "up"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process, mark }
    }

    /// Waits until a step of that name begins.
    pub fn until(&mut self, step: &str) {
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

    pub fn signal(&mut self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
        self.process.wait().unwrap();
    }

    /// The processes that carry the mark.
    pub fn processes(&self) -> Vec<String> {
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

    pub fn assert_gone(&self) {
        eventually_or(
            "nothing of the lab is left",
            TIMEOUT,
            || self.processes().is_empty().then_some(()),
            || format!("{:?}", self.processes()),
        );
    }
}

/// Kills `lab up` when a step begins; something must have been running by then.
pub fn kill_at(
    name: &str,
    folder: &Path,
    cache: &Path,
    args: &[&str],
    step: &str,
    what_runs: &str,
) {
    let mut lab = LabProcess::up(name, folder, cache, args);
    lab.until(step);
    eventually(&format!("{what_runs} runs"), TIMEOUT, || {
        let processes = lab.processes();
        let runs = processes.iter().any(|name| name.starts_with(what_runs));
        runs.then_some(())
    });
    lab.signal(Signal::KILL);
    lab.assert_gone();
}
