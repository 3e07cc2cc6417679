//! Commands that inspect the machine that runs the tests. Its state is unknown here: documents are
//! checked against their schemas. The values are checked by unit tests, and on real kernels in the
//! lab.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::Value;

use crate::{Fixture, golden, run};

const NO_RUNTIME: &str = "--socket none.sock";

#[test]
fn doctor_checks_the_machine() {
    let fixture = Fixture::new();
    let output = fixture.run(&format!("doctor -o json {NO_RUNTIME}"));
    let document = output.json();
    schedctl_schemas::check("doctor", &document);
    let ids = document["checks"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|check| check["id"].as_str().unwrap()).collect();
    let contract = "kernel.version kernel.sched_ext kernel.btf kernel.config caps.cap_bpf \
        caps.cap_sys_admin caps.cap_perfmon runtime.podman_socket runtime.containerd_socket \
        runtime.any";
    assert_eq!(ids[..10], contract.split_whitespace().collect::<Vec<_>>());
    let blocking = document["summary"]["blocking"].as_u64().unwrap();
    assert_eq!(output.code, i32::from(blocking > 0));
    let text = fixture.run(&format!("doctor {NO_RUNTIME}"));
    assert_eq!((text.code, text.err.as_str()), (output.code, ""));
    assert_eq!(
        text.out
            .lines()
            .filter(|line| line.contains("kernel.version "))
            .count(),
        1
    );
}

#[test]
fn a_socket_without_an_answer_fails_its_check() {
    let fixture = Fixture::new();
    let _listener = UnixListener::bind(fixture.path("podman.sock")).unwrap();
    let status = |args: &str| {
        let document = fixture.run(args).json();
        let checks = document["checks"].as_array().unwrap().clone();
        let of = |id: &str| {
            let check = checks.iter().find(|check| check["id"] == id).unwrap();
            check["status"].as_str().unwrap().to_owned()
        };
        (of("runtime.podman_socket"), of("runtime.any"))
    };
    let (podman, any) = status("doctor -o json --socket podman.sock");
    assert_eq!((podman.as_str(), any.as_str()), ("fail", "fail"));
    assert_eq!(status(&format!("doctor -o json {NO_RUNTIME}")).0, "fail");
}

#[test]
fn without_a_runtime_there_is_only_the_kernels_state() {
    let fixture = Fixture::new();
    let output = fixture.run(&format!("status -o json {NO_RUNTIME}"));
    assert_eq!(output.code, 1);
    let document = output.json();
    schedctl_schemas::check("error", &document);
    assert_eq!(document.get("status"), None);
    assert!(document["kernel"]["supported"].is_boolean(), "{document}");
    let output = fixture.run(&format!("status {NO_RUNTIME}"));
    assert_eq!(output.code, 1);
    assert!(output.out.starts_with("Kernel:  "), "{}", output.out);
    let why = "Podman cannot be reached at none.sock: No such file or directory";
    assert!(output.err.contains(why), "{}", output.err);
    assert!(output.err.contains("--driver containerd"), "{}", output.err);
    let output = fixture.run(&format!("status -d containerd {NO_RUNTIME}"));
    assert!(
        output
            .err
            .contains("containerd cannot be reached at none.sock"),
        "{}",
        output.err
    );
}

#[test]
fn without_a_runtime_ps_fails() {
    let output = Fixture::new().run(&format!("ps -o json {NO_RUNTIME}"));
    assert_eq!(output.code, 1);
    schedctl_schemas::check("error", &output.json());
}

#[test]
fn watching_ends_with_ctrl_c() {
    let fixture = Fixture::new();
    let mut command = std::process::Command::new(fixture.command().get_program());
    let mut child = command
        .args(["status", "--watch", "-o", "json", "--socket", "none.sock"])
        .args(["--config", "config.toml"])
        .current_dir(fixture.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    schedctl_schemas::check("error", &first);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Success or failure depends on the machine.
#[test]
fn waiting_ends_at_the_timeout() {
    let fixture = Fixture::new();
    let output = fixture.run("wait --detached --timeout 0s -o json");
    match output.code {
        0 => schedctl_schemas::check("wait", &output.json()),
        _ => schedctl_schemas::check("error", &output.json()),
    }
    let output = fixture.run("wait --attached scx_no_such_thing --timeout 0s");
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    let output = fixture.run("wait --attached a/b");
    assert!(
        output.err.contains("\"a/b\" is not a scheduler's name"),
        "{}",
        output.err
    );
    let output = fixture.run("wait --attached --timeout soon");
    assert_eq!(output.code, 1);
    assert!(output.err.contains("'soon'"), "{}", output.err);
}

#[test]
fn every_setting_is_shown_with_its_origin() {
    let fixture = Fixture::new();
    let masked = |text: &str| {
        let folder = fixture.path("").display().to_string();
        text.replace(&folder, "FOLDER/")
    };
    fixture.write(
        "config.toml",
        "driver = \"containerd\"\nsocket = \"/file.sock\"\n\
         [registry.\"a.example\"]\nmirrors = [\"b.example\"]\n",
    );
    let args = "config -o json --log-level info --registry-config logins.json";
    let mut command = fixture.command();
    let secret = "http://me:hunter2@proxy.example";
    command.env("HTTPS_PROXY", secret).args(args.split(' '));
    let shown = run(&mut command);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(!shown.out.contains("hunter2"), "{}", shown.out);
    schedctl_schemas::check("config", &shown.json());
    golden("config.json", &masked(&shown.out));
    let shown = fixture.run("config");
    assert!(shown.out.starts_with("SETTING "), "{}", shown.out);
    let shown = fixture.run("config -d podman -o json").json();
    let socket = &shown["settings"][2];
    assert_eq!(socket["value"], "/run/podman/podman.sock", "{socket}");
    assert_eq!(socket["origin"], "default");
}

#[test]
fn a_flag_takes_precedence_over_the_environment() {
    let fixture = Fixture::new();
    fixture.write("config.toml", "driver = \"podman\"\n");
    let driver = |args: &str| {
        let mut command = fixture.command();
        command.env("SCHEDCTL_DRIVER", "containerd");
        let document = run(command.args(args.split(' '))).json();
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
fn the_log_level_decides_what_is_logged() {
    let fixture = Fixture::new();
    let listing = "info: listing schedctl's containers of Podman at none.sock";
    for (level, expected) in [("warn", false), ("info", true), ("debug", true)] {
        let output = fixture.run(&format!("status {NO_RUNTIME} --log-level {level}"));
        assert_eq!(
            output.err.contains(listing),
            expected,
            "{level}: {}",
            output.err
        );
    }
    let mut command = fixture.command();
    command
        .env("SCHEDCTL_LOG_LEVEL", "info")
        .args(["ps", "--socket", "none.sock"]);
    assert!(run(&mut command).err.contains(listing));
}

#[test]
fn every_shell_has_a_completion_script() {
    let fixture = Fixture::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = fixture.run(&format!("completion {shell}"));
        assert_eq!((output.code, output.err.as_str()), (0, ""));
        // Those of bash, zsh and fish ask schedctl for each word.
        let asks = output.out.contains("schedctl") && output.out.contains("__complete --");
        let lists = output.out.contains("doctor") && output.out.contains("registry-config");
        assert!(asks || lists, "{shell}");
        let document = fixture.run(&format!("completion {shell} -o json")).json();
        schedctl_schemas::check("completion", &document);
        assert_eq!(document["script"], output.out.as_str());
    }
}
