//! What people bring from podman and gh: lists of containers and images, parts of a log, completion
//! of values.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::fake_podman::FakePodman;
use crate::server::{Files, Server};
use crate::{Fixture, Output, run};

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// With all the labels of schedctl, which name the container and its image.
fn container() -> Value {
    let (name, hash) = ("schedkit-scx_one-0000000a", "0a0a");
    json!({
        "Id": ID, "Names": [name], "Image": "a.example/one:1.0", "ImageID": hash,
        "Labels": {
            "provider": "schedkit", "io.schedkit.scheduler": "scx_one",
            "io.schedkit.container": name, "io.schedkit.image-hash": hash,
            "io.schedkit.reference": "a.example/one:1.0", "io.schedkit.image": "",
            "io.schedkit.args": "[]", "io.schedkit.signer": "", "io.schedkit.policy": "",
            "io.schedkit.waiver": "--allow-unsigned",
        },
        "State": "running", "Pid": 77,
    })
}

/// Podman with one container of schedctl.
fn podman(socket: &Path) -> FakePodman {
    FakePodman::listen(socket, |line| match line {
        list if list.contains("/containers/json") => (200, json!([container()]).to_string()),
        _ => (404, json!({"message": "not there"}).to_string()),
    })
}

#[test]
fn ps_shows_state_driver_and_image_after_the_three_columns() {
    let fixture = Fixture::new();
    let _podman = podman(&fixture.path("podman.sock"));
    let output = fixture.run("ps --socket podman.sock");
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> = output
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["PID", "ID", "NAME", "STATE", "DRIVER", "IMAGE"]);
    let name = "schedkit-scx_one-0000000a";
    let row = [
        "77",
        &ID[..12],
        name,
        "running",
        "podman",
        "a.example/one:1.0",
    ];
    assert_eq!(lines[1], row);
}

#[test]
fn ps_quiet_prints_ids_only() {
    let fixture = Fixture::new();
    let _podman = podman(&fixture.path("podman.sock"));
    let output = fixture.run("ps -q -d podman --socket podman.sock");
    assert_eq!((output.code, output.out.as_str()), (0, "0123456789ab\n"));
    let json = fixture.run("ps --quiet -d podman --socket podman.sock -o json");
    schedctl_schemas::check("ps", &json.json());
}

const DIGEST: &str = "sha256:00000000000000000000000000000000000000000000000000000000000000aa";

/// Podman with an image of the catalog that no container uses.
fn podman_with_image(socket: &Path, containers: u32) -> FakePodman {
    let image = json!({
        "Id": "0a", "RepoTags": null, "RepoDigests": [format!("a.example/one@{DIGEST}")],
        "Created": 1_700_000_000, "Size": 5_000_000, "Containers": containers,
    });
    let other = json!({
        "Id": "0b", "RepoTags": ["b.example/web:1"], "RepoDigests": [], "Size": 7, "Containers": 0,
    });
    FakePodman::listen(socket, move |line| match line {
        list if list.contains("/images/json") => (200, json!([image, other]).to_string()),
        remove if remove.starts_with("DELETE") => (200, "{}".to_owned()),
        _ => (404, json!({"message": "not there"}).to_string()),
    })
}

/// As a pull leaves it in the cache folder.
fn record_pull(fixture: &Fixture) {
    let folder = fixture.path("cache/pulled");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(DIGEST.trim_start_matches("sha256:")), "").unwrap();
}

#[test]
fn images_lists_those_of_schedulers() {
    let fixture = Fixture::new();
    let _podman = podman_with_image(&fixture.path("podman.sock"), 1);
    let args = "images -d podman --socket podman.sock";
    let output = fixture.run(args);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    assert!(output.out.starts_with("REFERENCE "), "{}", output.out);
    assert!(
        output.out.contains("a.example/one  000000000000  5.0 MB "),
        "{}",
        output.out
    );
    assert!(!output.out.contains("b.example"), "{}", output.out);
    let document = fixture.run(&format!("{args} -o json")).json();
    schedctl_schemas::check("images", &document);
    assert_eq!(document["images"][0]["digest"], DIGEST);
    assert_eq!(document["images"][0]["pulled_by_schedctl"], false);
}

#[test]
fn prune_removes_only_what_schedctl_pulled_and_nobody_uses() {
    for (recorded, containers, removed) in [(true, 0, true), (false, 0, false), (true, 1, false)] {
        let fixture = Fixture::new();
        let podman = podman_with_image(&fixture.path("podman.sock"), containers);
        if recorded {
            record_pull(&fixture);
        }
        let args = "prune -d podman --socket podman.sock";
        let planned = fixture.run(&format!("{args} --dry-run -o json")).json();
        schedctl_schemas::check("prune", &planned);
        assert_eq!(
            planned["images"].as_array().unwrap().len(),
            usize::from(removed)
        );
        if removed {
            // Without a terminal nobody can be asked.
            let asked = fixture.run(args);
            assert_eq!(asked.code, 1);
            assert!(
                asked.err.contains("nothing was done: use --force"),
                "{}",
                asked.err
            );
        }
        let deleted = || {
            podman
                .requests()
                .iter()
                .any(|line| line.starts_with("DELETE"))
        };
        assert!(!deleted());
        let output = fixture.run(&format!("{args} --force"));
        assert_eq!(output.code, 0, "{}", output.err);
        assert_eq!(deleted(), removed, "{recorded} {containers}");
        let freed = output.out.contains("Freed up to 5.0 MB");
        assert_eq!(freed, removed, "{}", output.out);
        assert!(!fixture.path("cache/pulled").join(&DIGEST[7..]).exists() || !removed);
    }
}

/// The words that bash offers for the last word of a line.
fn offered(fixture: &Fixture, line: &str) -> Vec<String> {
    let script = Fixture::new().run("completion bash").out;
    let words: Vec<&str> = line.split(' ').collect();
    let program = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_schedctl {} '' ''\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" "),
        words.len() - 1,
        fixture.command().get_program().display(),
    );
    let set = fixture.command();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &program])
        .current_dir(fixture.path(""))
        .env_clear();
    for (name, value) in set.get_envs() {
        bash.env(name, value.unwrap_or_default());
    }
    bash.env("PATH", "/usr/bin:/bin")
        .env("SCHEDCTL_SOCKET", "podman.sock");
    let output: Output = run(&mut assert_cmd::Command::from_std(bash));
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{line}");
    let lines = output.out.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn bash_completes_names_containers_commands_and_options() {
    let fixture = Fixture::new();
    let _podman = podman(&fixture.path("podman.sock"));
    for (line, expected) in [
        ("schedctl run ", &["scx_one", "scx_two"][..]),
        ("schedctl switch scx_t", &["scx_two"]),
        ("schedctl enable scx_o", &["scx_one"]),
        ("schedctl doctor --image scx_o", &["scx_one"]),
        ("schedctl stop scx", &["scx_one"]),
        ("schedctl logs 01", &["0123456789ab"]),
        ("schedctl -d ", &["podman", "containerd"]),
        ("schedctl swi", &["switch"]),
        ("schedctl run --allow", &["--allow-unsigned"]),
        ("schedctl run scx_one -- --", &[]),
    ] {
        let found = offered(&fixture, line);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn tags_are_completed_and_kept() {
    let fixture = Fixture::new();
    let tags = json!({"name": "one", "tags": ["1.9", "1.10", "latest"]});
    let file = ("/v2/one/tags/list".to_owned(), tags.to_string());
    let server = Server::start(Files::from([file]));
    let host = server.address.clone();
    fixture.write(
        "catalog.json",
        &json!({"scx_one": {"imageURI": format!("{host}/one")}}).to_string(),
    );
    fixture.write(
        "config.toml",
        &format!("[registry.{host:?}]\nsecurity = \"plain-http\"\n"),
    );
    let line = "schedctl run scx_one --version 1";
    assert_eq!(offered(&fixture, line), ["1.10", "1.9"]);
    server.stop();
    assert_eq!(offered(&fixture, line), ["1.10", "1.9"]);
    let latest = offered(&fixture, "schedctl switch scx_one --version l");
    assert_eq!(latest, ["latest"]);
}

#[test]
fn completion_is_silent_where_nothing_can_be_read() {
    let fixture = Fixture::new();
    fixture.write("config.toml", "this is no setting");
    for line in ["schedctl run scx", "schedctl stop ", "schedctl logs x"] {
        assert_eq!(offered(&fixture, line), Vec::<String>::new(), "{line}");
    }
    let output = fixture.run("__complete -- run scx");
    assert_eq!((output.code, output.err.as_str()), (0, ""));
}
