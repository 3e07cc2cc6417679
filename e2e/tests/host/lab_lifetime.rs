//! However a lab ends, nothing of it is left, and the next one comes up. `long_lab` kills one while
//! its node boots.

use std::io::{BufRead, BufReader};
use std::process::Command;

use lab::environment::cache_folder;
use rustix::process::{Pid, Signal, kill_process};
use testkit::lab_process::{LabProcess, kill_at};
use testkit::program;

#[test]
fn killed_while_it_builds_and_while_it_starts_and_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let cold = folder.path().join("cold");
    let warm = cache_folder();
    let control_plane = ["--topology", "control-plane"];
    kill_at(
        "killed",
        &state,
        &cold,
        &control_plane,
        "building etcd",
        "go",
    );
    kill_at(
        "killed",
        &state,
        &warm,
        &control_plane,
        "starting the control plane",
        "kube-apiserver",
    );
    let mut lab = LabProcess::up("killed", &state, &warm, &control_plane);
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
    let mut lab = LabProcess::up(
        "detached",
        folder.path(),
        &cache_folder(),
        &["--topology", "control-plane", "--detach"],
    );
    assert!(lab.process.wait().unwrap().success());
    assert!(
        lab.processes()
            .iter()
            .any(|program| program == "kube-apiserver"),
        "{:?}",
        lab.processes()
    );
    let run = |verb: &str| {
        Command::new(program::lab())
            .env("SCHEDKIT_LAB_STATE", folder.path())
            .args(["--name", "detached", verb])
            .output()
            .unwrap()
    };
    assert!(run("status").status.success());
    let second = LabProcess::up(
        "detached",
        folder.path(),
        &cache_folder(),
        &["--topology", "control-plane"],
    );
    let refused = second.process.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && stderr.contains("runs already"),
        "{stderr}"
    );
    assert!(run("down").status.success());
    lab.assert_gone();
    assert!(!run("status").status.success());
}

#[test]
fn a_killed_supervisor_takes_everything_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = LabProcess::up(
        "supervisor-killed",
        folder.path(),
        &cache_folder(),
        &["--topology", "control-plane", "--detach"],
    );
    assert!(lab.process.wait().unwrap().success());
    let supervisor = lab::State::new(folder.path().join("supervisor-killed"))
        .supervisor_pid()
        .unwrap();
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL).unwrap();
    lab.assert_gone();
}
