//! Commands that look at the machine the tests run on. What it is, is not known here: documents
//! are held against their schemas, texts against their shape. The answers themselves are proved
//! in `src/`, and on real kernels in the lab.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::Value;

use crate::schema;
use crate::{Ground, golden, said};

const SILENT: &str = "--socket none.sock";

#[test]
fn the_machine_is_examined() {
    let ground = Ground::new();
    let said = ground.run(&format!("doctor -o json {SILENT}"));
    let document = said.json();
    schema::check("doctor", &document);
    let ids = document["checks"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|check| check["id"].as_str().unwrap()).collect();
    let contract = "kernel.version kernel.sched_ext kernel.btf kernel.config caps.cap_bpf \
        caps.cap_sys_admin caps.cap_perfmon runtime.podman_socket runtime.containerd_socket \
        runtime.any";
    assert_eq!(ids[..10], contract.split_whitespace().collect::<Vec<_>>());
    let blocking = document["summary"]["blocking"].as_u64().unwrap();
    assert_eq!(said.code, i32::from(blocking > 0));
    let text = ground.run(&format!("doctor {SILENT}"));
    assert_eq!((text.code, text.err.as_str()), (said.code, ""));
    assert_eq!(
        text.out
            .lines()
            .filter(|line| line.contains("kernel.version "))
            .count(),
        1
    );
}

#[test]
fn a_socket_where_nobody_answers_is_none() {
    let ground = Ground::new();
    let _listener = UnixListener::bind(ground.path("podman.sock")).unwrap();
    let status = |words: &str| {
        let document = ground.run(words).json();
        let checks = document["checks"].as_array().unwrap().clone();
        let of = |id: &str| {
            let check = checks.iter().find(|check| check["id"] == id).unwrap();
            check["status"].as_str().unwrap().to_owned()
        };
        (of("runtime.podman_socket"), of("runtime.any"))
    };
    let (podman, any) = status("doctor -o json --socket podman.sock");
    assert_eq!((podman.as_str(), any.as_str()), ("fail", "fail"));
    assert_eq!(status(&format!("doctor -o json {SILENT}")).0, "fail");
}

/// The kernel is told, and nothing is claimed that only the runtime knows.
#[test]
fn without_a_runtime_there_is_no_status_and_the_kernel_all_the_same() {
    let ground = Ground::new();
    let said = ground.run(&format!("status -o json {SILENT}"));
    assert_eq!(said.code, 1);
    let document = said.json();
    schema::check("error", &document);
    assert_eq!(document.get("status"), None);
    assert!(document["kernel"]["supported"].is_boolean(), "{document}");
    let said = ground.run(&format!("status {SILENT}"));
    assert_eq!(said.code, 1);
    assert!(said.out.starts_with("Kernel:  "), "{}", said.out);
    let why = "Podman cannot be reached at none.sock: No such file or directory";
    assert!(said.err.contains(why), "{}", said.err);
    assert!(said.err.contains("--driver containerd"), "{}", said.err);
    let said = ground.run(&format!("status -d containerd {SILENT}"));
    assert!(
        said.err
            .contains("containerd cannot be reached at none.sock"),
        "{}",
        said.err
    );
}

#[test]
fn without_a_runtime_there_are_no_processes_to_list() {
    let said = Ground::new().run(&format!("ps -o json {SILENT}"));
    assert_eq!(said.code, 1);
    schema::check("error", &said.json());
}

#[test]
fn watching_goes_on_until_ctrl_c() {
    let ground = Ground::new();
    let mut command = std::process::Command::new(ground.command().get_program());
    let mut child = command
        .args(["status", "--watch", "-o", "json", "--socket", "none.sock"])
        .args(["--config", "config.toml"])
        .current_dir(ground.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    schema::check("error", &first);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// One of both, by what the machine is; neither waits.
#[test]
fn waiting_ends_by_itself() {
    let ground = Ground::new();
    let said = ground.run("wait --detached --timeout 0s -o json");
    match said.code {
        0 => schema::check("wait", &said.json()),
        _ => schema::check("error", &said.json()),
    }
    let said = ground.run("wait --attached scx_no_such_thing --timeout 0s");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    let said = ground.run("wait --attached a/b");
    assert!(
        said.err.contains("\"a/b\" is no scheduler's name"),
        "{}",
        said.err
    );
    let said = ground.run("wait --attached --timeout soon");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("'soon'"), "{}", said.err);
}

#[test]
fn every_setting_is_shown_with_who_said_it() {
    let ground = Ground::new();
    let masked = |text: &str| {
        let folder = ground.path("").display().to_string();
        text.replace(&folder, "FOLDER/")
    };
    ground.write(
        "config.toml",
        "driver = \"containerd\"\nsocket = \"/file.sock\"\n\
         [registry.\"a.example\"]\nmirrors = [\"b.example\"]\n",
    );
    let words = "config -o json --log-level info --registry-config logins.json";
    let mut command = ground.command();
    let secret = "http://me:hunter2@proxy.example";
    command.env("HTTPS_PROXY", secret).args(words.split(' '));
    let shown = said(&mut command);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(!shown.out.contains("hunter2"), "{}", shown.out);
    schema::check("config", &shown.json());
    golden("config.json", &masked(&shown.out));
    let shown = ground.run("config");
    assert!(shown.out.starts_with("SETTING "), "{}", shown.out);
    let shown = ground.run("config -d podman -o json").json();
    let socket = &shown["settings"][2];
    assert_eq!(socket["value"], "/run/podman/podman.sock", "{socket}");
    assert_eq!(socket["origin"], "default");
}

#[test]
fn a_flag_beats_the_environment_for_the_driver_too() {
    let ground = Ground::new();
    ground.write("config.toml", "driver = \"podman\"\n");
    let driver = |words: &str| {
        let mut command = ground.command();
        command.env("SCHEDCTL_DRIVER", "containerd");
        let document = said(command.args(words.split(' '))).json();
        document["settings"][1].clone()
    };
    let environment = driver("config -o json");
    assert_eq!(environment["value"], "containerd");
    assert_eq!(environment["source"], "SCHEDCTL_DRIVER");
    let flag = driver("config -o json --driver podman");
    assert_eq!(
        (&flag["value"], &flag["origin"]),
        (&"podman".into(), &"flag".into())
    );
}

#[test]
fn more_is_said_when_more_is_asked_for() {
    let ground = Ground::new();
    let asking = "info: asking Podman at none.sock";
    for (level, expected) in [("warn", false), ("info", true), ("debug", true)] {
        let said = ground.run(&format!("status {SILENT} --log-level {level}"));
        assert_eq!(said.err.contains(asking), expected, "{level}: {}", said.err);
    }
    let mut command = ground.command();
    command
        .env("SCHEDCTL_LOG_LEVEL", "info")
        .args(["ps", "--socket", "none.sock"]);
    assert!(said(&mut command).err.contains(asking));
}

#[test]
fn every_shell_gets_a_script_that_knows_our_words() {
    let ground = Ground::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = ground.run(&format!("completion {shell}"));
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        assert!(
            said.out.contains("doctor") && said.out.contains("registry-config"),
            "{shell}"
        );
        let document = ground.run(&format!("completion {shell} -o json")).json();
        schema::check("completion", &document);
        assert_eq!(document["script"], said.out.as_str());
    }
}
