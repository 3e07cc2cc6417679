//! SIGINT, SIGTERM and SIGHUP while a command waits for a server that accepts and never answers.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Fixture, Output};

const DEFAULT: &str = "--default-signal=HUP,INT,TERM";

/// Starts schedctl through `env`, which sets what a signal does: this process may have inherited
/// that it ignores some.
fn start(fixture: &Fixture, signals: &str, args: &str) -> Child {
    Command::new("env")
        .arg(signals)
        .arg(fixture.command().get_program())
        .args(args.split(' '))
        .current_dir(fixture.folder.path())
        .env("SCHEDCTL_CONFIG", fixture.path("config.toml"))
        .env("SCHEDCTL_CATALOG", fixture.path("catalog.json"))
        .env("SCHEDCTL_CACHE", fixture.path("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn end(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    Output {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_signal_is_heard_while_a_registry_or_a_catalog_does_not_answer() {
    for (signal, name, code) in [
        (Signal::INT, "SIGINT", 130),
        (Signal::TERM, "SIGTERM", 143),
        (Signal::HUP, "SIGHUP", 129),
    ] {
        for args in [
            "versions HOST/team/one -o json",
            "info HOST/team/one:1.0 -o json",
            "verify HOST/team/one:1.0 -o json",
            "pull HOST/team/one:1.0 --allow-unsigned -o json",
            "list --catalog http://HOST/c.json -o json",
            "run scx_one --catalog http://HOST/c.json -o json",
        ] {
            let fixture = Fixture::new();
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = server.local_addr().unwrap().to_string();
            let child = start(&fixture, DEFAULT, &args.replace("HOST", &address));
            let (mut stream, _) = server.accept().unwrap();
            // It has asked, and waits for the answer.
            stream.read_exact(&mut [0]).unwrap();
            send(&child, signal);
            let output = end(child);
            assert_eq!(output.code, code, "{args}: {}", output.err);
            let message = format!("interrupted by {name}");
            assert!(output.err.contains(&message), "{args}: {}", output.err);
            let document = output.json();
            schedctl_schemas::check("error", &document);
            assert_eq!(document["error"]["exit_code"], code, "{args}");
        }
    }
}

#[test]
fn a_signal_is_heard_while_the_runtime_does_not_answer() {
    for args in [
        "ps --socket podman.sock",
        "status --socket podman.sock",
        "logs --socket podman.sock",
        "run scx_one --dry-run --socket podman.sock",
        "stop scx_one --dry-run --socket podman.sock",
    ] {
        let fixture = Fixture::new();
        let server = UnixListener::bind(fixture.path("podman.sock")).unwrap();
        let child = start(&fixture, DEFAULT, args);
        let (mut stream, _) = server.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        send(&child, Signal::INT);
        let output = end(child);
        assert_eq!(output.code, 130, "{args}: {}", output.err);
    }
}

#[test]
fn nohup_is_honoured() {
    let fixture = Fixture::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let args = format!("versions {address}/team/one");
    let child = start(&fixture, "--ignore-signal=HUP", &args);
    let (mut stream, _) = server.accept().unwrap();
    stream.read_exact(&mut [0]).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & 1, 1, "{ignored:x}");
    send(&child, Signal::HUP);
    send(&child, Signal::TERM);
    let output = end(child);
    assert_eq!(output.code, 143, "{}", output.err);
}
