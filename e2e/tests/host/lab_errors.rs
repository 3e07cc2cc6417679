//! What the `lab` command prints when something is missing: one message with the remedy, before
//! anything slow begins, and nothing is left behind.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use testkit::program;

struct Refusal {
    stderr: String,
    code: Option<i32>,
}

/// Runs `lab` in a folder of its own through `wrapper`; it must refuse at once.
fn refused(wrapper: &[&str], folder: &Path, args: &[&str]) -> Refusal {
    let mut command = match wrapper.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program::lab());
            command
        }
        None => Command::new(program::lab()),
    };
    let output = command
        .env("SCHEDKIT_CACHE", folder.join("cache"))
        .env("SCHEDKIT_LAB_STATE", folder.join("state"))
        .args(args)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    for slow in ["building", "installing", "fetching", "writing"] {
        assert!(
            !stderr.contains(slow),
            "refused only after {slow}: {stderr}"
        );
    }
    Refusal {
        stderr,
        code: output.status.code(),
    }
}

/// A folder of links to everything that is in PATH but for some programs.
fn path_without(folder: &Path, hidden: &[&str]) -> String {
    let links = folder.join("bin");
    std::fs::create_dir(&links).unwrap();
    for place in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            if !hidden.iter().any(|name| entry.file_name() == *name) {
                // The first of a name wins, as in PATH itself.
                let _ = std::os::unix::fs::symlink(entry.path(), links.join(entry.file_name()));
            }
        }
    }
    format!("PATH={}", links.display())
}

/// Nothing finished and nothing half-made is in the cache.
fn assert_nothing_made(folder: &Path) {
    let cache = folder.join("cache");
    let left: Vec<_> = [
        "making",
        "kernel",
        "kube",
        "qemu",
        "root-disk",
        "scx_lab-amd64",
    ]
    .iter()
    .map(|name| cache.join(name))
    .filter(|path| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()))
    .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

fn assert_refused(refusal: &Refusal, parts: &[&str]) {
    assert_eq!(refusal.code, Some(1), "{}", refusal.stderr);
    let last = refusal.stderr.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("lab: ") || refusal.stderr.contains("\nlab: "),
        "{}",
        refusal.stderr
    );
    for part in parts {
        assert!(
            refusal.stderr.contains(part),
            "no {part:?} in: {}",
            refusal.stderr
        );
    }
}

#[test]
fn not_root() {
    let folder = tempfile::tempdir().unwrap();
    // Out of root's own folders, where nobody else may look.
    let copy = folder.path().join("lab");
    std::fs::copy(program::lab(), &copy).unwrap();
    std::fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["--state", "/nonexistent", "up"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_refused(
        &Refusal {
            stderr,
            code: output.status.code(),
        },
        &["needs root", "sudo"],
    );
}

#[test]
fn no_go() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = refused(
        &["env", &path_without(folder.path(), &["go"])],
        folder.path(),
        &["up", "--topology", "control-plane"],
    );
    assert_refused(&refusal, &["Go is not installed", "Kubernetes", "go.dev"]);
    assert_nothing_made(folder.path());
}

#[test]
fn no_rust() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = refused(
        &["env", &path_without(folder.path(), &["cargo"])],
        folder.path(),
        &["up", "--topology", "machine"],
    );
    assert_refused(&refusal, &["Rust is not installed", "schedulers", "rustup"]);
    assert_nothing_made(folder.path());
}

#[test]
fn no_such_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = refused(&[], folder.path(), &["up", "--kernel", "5.99"]);
    assert_refused(&refusal, &["no kernel \"5.99\"", "6.18", "--kernel"]);
    assert_nothing_made(folder.path());
}

#[test]
fn a_port_that_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    for option in ["--api-port", "--registry-port"] {
        let refusal = refused(&[], folder.path(), &["up", option, &port]);
        assert_refused(
            &refusal,
            &[
                &format!("port {port} on 127.0.0.1 is taken"),
                "choose another",
            ],
        );
    }
    assert_nothing_made(folder.path());
}

#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=16m tmpfs {} && exec \"$@\"",
        folder.path().display()
    );
    let wrapper = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    let refusal = refused(&wrapper, folder.path(), &["up"]);
    assert_refused(&refusal, &["MiB free", "make room"]);
}

#[test]
fn no_network() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = refused(&["unshare", "--net"], folder.path(), &["up"]);
    assert_refused(&refusal, &["cannot reach the Debian archive", "network"]);
    assert_nothing_made(folder.path());
}

#[test]
fn a_lab_that_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["status"][..],
        &["down"],
        &["exec", "node1", "--", "true"],
        &["console", "node1"],
    ] {
        let refusal = refused(&[], folder.path(), args);
        assert_refused(
            &refusal,
            &["no lab \"default\" runs here", "lab --name default up"],
        );
    }
}

#[test]
fn logs_of_a_lab_that_never_ran() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = refused(&[], folder.path(), &["logs"]);
    assert_refused(&refusal, &["no lab ever ran", "lab up"]);
}

#[test]
fn args_that_make_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["up", "--nodes", "0"][..],
        &["--name", "../x", "up"],
        &["up", "--topology", "moon"],
        &["frobnicate"],
    ] {
        let refusal = refused(&[], folder.path(), args);
        assert_eq!(refusal.code, Some(2), "{args:?}: {}", refusal.stderr);
    }
}
