//! The program as it is run: exit codes, and errors as one sentence. A small server in the test
//! answers like an API server that refuses; what a real one does is tested in `e2e`.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

fn kubectl_sx(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-sx"));
    command.args(args).env_remove("KUBECONFIG");
    command
}

fn run(args: &[&str]) -> Output {
    kubectl_sx(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An API server that gives every request this answer.
struct Server {
    folder: TempDir,
}

impl Server {
    fn new(code: u16, status: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let body = status.to_string();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                let head = format!(
                    "HTTP/1.1 {code} Refused\r\ncontent-type: application/json\r\n\
                     content-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "c", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "team"}}],
        });
        std::fs::write(folder.path().join("config"), config.to_string()).unwrap();
        Self { folder }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    /// The error of a command, which must fail with exit code 1.
    fn error(&self, args: &[&str]) -> String {
        let mut command = kubectl_sx(args);
        let output = command.arg("--kubeconfig").arg(self.kubeconfig()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        stderr(&output)
    }
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "message": message,
    })
}

#[test]
fn help_succeeds_and_wrong_usage_is_2() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    for command in ["status", "rollout", "nodes", "explain", "plan", "release"] {
        assert!(
            text.contains(&format!("\n  {command} ")),
            "{command}: {text}"
        );
    }
    for wrong in [
        &["rollout", "promote"][..],
        &["plan"],
        &["status", "-o", "xml"],
    ] {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_named() {
    let output = run(&["nodes", "-o", "json", "--kubeconfig", "/nowhere/config"]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(
        error.starts_with("error: cannot use the kubeconfig /nowhere/config: "),
        "{error}"
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        document["error"]
            .as_str()
            .unwrap()
            .contains("/nowhere/config")
    );
}

#[test]
fn without_the_crd_it_says_so() {
    let server = Server::new(404, &status(404, "NotFound", "404 page not found"));
    for args in [&["status"][..], &["nodes"], &["rollout", "status", "a"]] {
        let error = server.error(args);
        assert!(
            error.contains("is not installed in this cluster"),
            "{error}"
        );
    }
}

#[test]
fn a_missing_right_is_named() {
    let message =
        "schedexts.sked.schedkit.io is forbidden: User \"ann\" cannot get resource \"schedexts\"";
    let server = Server::new(403, &status(403, "Forbidden", message));
    let error = server.error(&["rollout", "undo", "a"]);
    assert!(
        error.contains("you have no right to get schedexts in the namespace team: "),
        "{error}"
    );
    let error = server.error(&["explain", "node1"]);
    assert!(error.contains("you have no right to list "), "{error}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let server = Server::new(403, &status(403, "Forbidden", "no"));
    let mut command = kubectl_sx(&["status", "--kubeconfig"]);
    command.arg(server.kubeconfig());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}
