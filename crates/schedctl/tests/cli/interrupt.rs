//! SIGINT, SIGTERM and SIGHUP while a command waits for a server that accepts and never answers.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process};

use crate::bad_input::this_architecture;
use crate::fake_podman::{FakePodman, frame};
use crate::logs::podman_with_output;
use crate::registry::{RegistryFixture, SIGNER};
use crate::{Fixture, Output};

const DEFAULT: &str = "--default-signal=HUP,INT,TERM";
/// Other work shares the processors.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts schedctl through `env`, which sets what a signal does: this process may have inherited
/// that it ignores some.
fn start(fixture: &Fixture, signals: &str, args: &str) -> Child {
    let mut command = Command::new("env");
    let command = command.arg(signals);
    let command = command.arg(fixture.command().get_program());
    spawn(fixture, command.args(args.split(' ')))
}

fn spawn(fixture: &Fixture, command: &mut Command) -> Child {
    command
        .current_dir(fixture.folder.path())
        .env("SCHEDCTL_CONFIG", fixture.path("config.toml"))
        .env("SCHEDCTL_CATALOG", fixture.path("catalog.json"))
        .env("SCHEDCTL_CACHE", fixture.path("cache"))
        .env("SCHEDCTL_STATE", fixture.path("state"))
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
            "list --catalog https://HOST/c.json -o json",
            "run scx_one --catalog https://HOST/c.json -o json",
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

/// A pager at the end of its page, or a terminal after Ctrl-S.
#[test]
fn a_signal_is_heard_while_nobody_reads_the_output() {
    for stream in [1, 2] {
        for tail in ["", " --tail 20000"] {
            let fixture = Fixture::new();
            let line = format!("{}\n", "x".repeat(99));
            let output: String = (0..20_000).map(|_| frame(stream, &line)).collect();
            let _podman = podman_with_output(&fixture, output);
            let args = format!("logs --socket podman.sock{tail}");
            let mut child = start(&fixture, DEFAULT, &args);
            until("the pipe is full", || {
                let unread = match stream {
                    1 => ioctl_fionread(child.stdout.as_ref().unwrap()),
                    _ => ioctl_fionread(child.stderr.as_ref().unwrap()),
                };
                unread.unwrap() > 60_000
            });
            send(&child, Signal::TERM);
            let mut ended = None;
            until("it has ended", || {
                ended = child.try_wait().unwrap();
                ended.is_some()
            });
            assert_eq!(ended.unwrap().code(), Some(143), "{args} on {stream}");
        }
    }
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "not so: {what}");
        std::thread::sleep(Duration::from_millis(20));
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
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & 1, 1, "{ignored:x}");
    send(&child, Signal::HUP);
    send(&child, Signal::TERM);
    let output = end(child);
    assert_eq!(output.code, 143, "{}", output.err);
}

/// With files of its own in place of `/etc` and `/run`, and a systemctl that takes long to start a
/// unit. The other changes are made by the real one.
#[test]
fn a_signal_is_heard_while_systemd_starts_the_unit() {
    let registry = RegistryFixture::new();
    let fixture = &registry.fixture;
    let policy = registry.trusting(SIGNER);
    let (host, digest) = (&registry.server.address, &registry.digest);
    let image = serde_json::json!({
        "Id": "0123", "Os": "linux", "Architecture": this_architecture(),
        "RepoDigests": [format!("{host}/team/one@{digest}")],
    });
    let image = image.to_string();
    let _podman = FakePodman::listen(&fixture.path("podman.sock"), move |_| (200, image.clone()));
    let systemctl = "#!/bin/sh\ncase $1 in\n\
        restart) echo $$ >pid.new; mv pid.new pid; exec sleep 600 ;;\n\
        daemon-reload|reset-failed) ;;\n\
        *) exec /usr/bin/systemctl \"$@\" ;;\nesac\n";
    fs::create_dir(fixture.path("bin")).unwrap();
    let program = fixture.write("bin/systemctl", systemctl);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "mount -t tmpfs etc /etc && mount -t tmpfs run /run &&
        mkdir -p /run/systemd/system /etc/systemd/system && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount"])
        .args(["env", DEFAULT, "sh", "-c", script, "sh"])
        .arg(fixture.command().get_program())
        .args(["enable", "scx_one", "--now", "--socket", "podman.sock"])
        .args(["--trust-policy", &policy])
        .env(
            "PATH",
            format!("{}/bin:/usr/bin:/bin", fixture.path("").display()),
        );
    let child = spawn(fixture, &mut command);
    let pid = fixture.path("pid");
    while !pid.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    send(&child, Signal::TERM);
    let output = end(child);
    assert_eq!(output.code, 143, "{}{}", output.out, output.err);
    for part in [
        "interrupted by SIGTERM",
        "Now: schedctl@scx_one.service is enabled, and systemd",
    ] {
        assert!(output.err.contains(part), "{}", output.err);
    }
    // A process that was killed and not yet waited for has no command line. The signal may reach it
    // after schedctl has ended.
    let pid = fs::read_to_string(pid).unwrap();
    let line = format!("/proc/{}/cmdline", pid.trim());
    let begin = Instant::now();
    while fs::read(&line).is_ok_and(|line| !line.is_empty()) {
        assert!(begin.elapsed() < LIMIT, "systemctl was left");
        std::thread::sleep(Duration::from_millis(20));
    }
}
