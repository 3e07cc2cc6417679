//! The lab's side: what tests do on a node reaches it as it is, and the node is what it should be.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use lab::Daemon;
use testkit::machine::{PODMAN_RUN, machine};
use testkit::program;
use testkit::wait::NODE_TIMEOUT;

/// Not on the QEMU of Debian 12, which may be installed beside it: a machine is named for the QEMU
/// that came with it.
#[test]
fn it_has_sched_ext_two_processors_and_a_qemu_that_can_run_both() {
    let machine = machine();
    machine
        .shell("test -r /sys/kernel/btf/vmlinux && grep -qx disabled /sys/kernel/sched_ext/state");
    assert_eq!(machine.shell("nproc"), "2");
    let version = machine.shell("cat /sys/class/dmi/id/product_version");
    let major = version
        .strip_prefix("pc-q35-")
        .and_then(|numbers| numbers.split('.').next()?.parse::<u32>().ok());
    assert!(major.is_some_and(|major| major >= 10), "{version}");
}

fn lab(args: &[&str]) -> Command {
    let mut lab = Command::new(program::lab());
    lab.env("SCHEDKIT_LAB_STATE", program::labs());
    lab.args(["--name", "e2e-machine"]).args(args);
    lab
}

#[test]
fn commands_files_and_jobs_reach_the_node_as_they_are() {
    let machine = machine();
    let node = machine.node();
    let printed = node.run(&["printf", "%s|", "a b", "$HOME", "it's"]);
    assert_eq!(printed.unwrap().stdout, "a b|$HOME|it's|");
    assert_eq!(node.shell("exit 42").unwrap().status, 42);
    let folder = tempfile::tempdir().unwrap();
    let (file, back) = (
        folder.path().join("with blanks"),
        folder.path().join("back"),
    );
    std::fs::write(&file, [0_u8, 255, 10]).unwrap();
    let copy = |from: &str, to: &str| lab(&["cp", from, to]).status().unwrap().success();
    assert!(copy(file.to_str().unwrap(), "node1:/tmp/there"));
    assert!(copy("node1:/tmp/there", back.to_str().unwrap()));
    assert_eq!(std::fs::read(back).unwrap(), [0, 255, 10]);
    machine.shell("rm /tmp/there");
    assert!(
        node.console().contains("lab: node1 is up"),
        "{}",
        node.console()
    );

    let script = "echo \"$0\"; echo err >&2; exec sleep 1000";
    let job = node.background(&["sh", "-c", script, "a  b"]).unwrap();
    let comm = format!("/proc/{}/comm", job.pid());
    machine.shell(&format!("until grep -q sleep {comm}; do sleep 0.1; done"));
    assert_eq!(job.ended().unwrap(), None);
    job.kill("KILL").unwrap();
    let output = job.wait(NODE_TIMEOUT).unwrap();
    let output = (
        output.stdout.as_str(),
        output.stderr.as_str(),
        output.status,
    );
    assert_eq!(output, ("a  b", "err", 128 + 9));
}

#[test]
fn daemons_stop_and_start() {
    let machine = machine();
    let podman = "podman --url unix:///run/podman/podman.sock version";
    for (daemon, command) in [
        (Daemon::Podman, podman),
        (Daemon::Containerd, "ctr version"),
    ] {
        let answers = || machine.node().shell(command).unwrap().status == 0;
        assert!(answers(), "{daemon:?}");
        machine.stop_daemon(daemon);
        assert!(!answers(), "{daemon:?} answers though it was stopped");
        machine.start_daemon(daemon);
        assert!(answers(), "{daemon:?} does not come back");
    }
}

/// Without schedctl: what tests compare schedctl with.
#[test]
fn the_kernel_logs_when_it_attached_and_why_it_detached() {
    let machine = machine();
    let node = machine.node();
    let mark = node.mark("podman run").unwrap();
    let image = machine.image("scx_lab:1.0.0");
    machine.shell(&format!(
        "{PODMAN_RUN} --detach --name plain {image} >/dev/null"
    ));
    let logged = |text: &str| {
        let line = node.await_kernel(&mark, text, NODE_TIMEOUT).unwrap();
        line.at - mark.at
    };
    let attached = logged(r#"BPF scheduler "lab_1.0.0" enabled"#);
    machine.shell("podman rm --force --time 30 plain >/dev/null");
    assert!(logged("disabled (unregistered from user space)") > attached);
}

#[test]
fn the_console_answers_and_lets_go() {
    let _machine = machine();
    let lab = lab(&["console", "node1"]);
    let mut console = Command::new("timeout")
        .arg("90")
        .arg(lab.get_program())
        .args(lab.get_args())
        .env("SCHEDKIT_LAB_STATE", program::labs())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut keyboard = console.stdin.take().unwrap();
    keyboard.write_all(b"echo answer-$((40+2))\n").unwrap();
    let lines = BufReader::new(console.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let answered = lines.any(|line| line.contains("answer-42"));
    assert!(answered, "the console ended without an answer");
    keyboard.write_all(&[0x1d]).unwrap();
    assert!(console.wait().unwrap().success());
}
