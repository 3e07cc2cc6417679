//! schedctl as its users meet it: the program itself, its words, streams and exit codes. No
//! network but a small server on this machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod look;
mod registry;
#[path = "../shared/schema.rs"]
mod schema;
mod schemas;
mod server;
mod troubleshooting;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use server::{Files, Server};

const CATALOG: &str = r#"{
  "scx_one": { "imageURI": "a.example/one" },
  "scx_two": { "imageURI": "a.example/two:1.0" }
}"#;

/// A folder with a catalog and no settings, so that nothing of this machine counts.
struct Ground {
    folder: TempDir,
}

struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Ground {
    fn new() -> Self {
        let ground = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        ground.write("catalog.json", CATALOG);
        ground.write("config.toml", "");
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    fn command(&self) -> Command {
        let mut command = Command::cargo_bin("schedctl").unwrap();
        command
            .env_clear()
            .current_dir(self.folder.path())
            .env("SCHEDCTL_CONFIG", self.path("config.toml"))
            .env("SCHEDCTL_CATALOG", self.path("catalog.json"))
            .env("SCHEDCTL_CACHE", self.path("cache"));
        command
    }

    fn run(&self, words: &str) -> Said {
        said(self.command().args(words.split_whitespace()))
    }
}

fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Said {
    fn json(&self) -> Value {
        let document: Value = serde_json::from_str(&self.out).unwrap();
        assert_eq!(document["schema_version"], "1");
        document
    }
}

/// Compares with a file of `tests/golden`; `UPDATE_GOLDEN=1` writes it instead.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, expected,
        "{name} differs; UPDATE_GOLDEN=1 takes the new text"
    );
}

#[test]
fn help_says_what_it_always_said() {
    let ground = Ground::new();
    for verb in ["", "list", "versions", "info", "verify"]
        .into_iter()
        .chain([
            "status",
            "ps",
            "doctor",
            "events",
            "wait",
            "config",
            "completion",
        ])
    {
        let said = ground.run(&format!("{verb} --help"));
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        let name = if verb.is_empty() { "schedctl" } else { verb };
        golden(&format!("{name}.txt"), &said.out);
    }
}

#[test]
fn the_version_is_told() {
    let said = Ground::new().run("--version");
    assert_eq!(said.code, 0);
    assert_eq!(
        said.out,
        format!("schedctl {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_words_are_trouble_and_are_answered_with_the_right_ones() {
    let ground = Ground::new();
    for (words, hint) in [
        ("", "Usage: schedctl"),
        ("lst", "'list'"),
        ("list --catalgo x", "'--catalog'"),
        ("list -o yaml", "json"),
        ("info", "<NAME|REF>"),
        ("info a b", "unexpected argument 'b'"),
    ] {
        let said = ground.run(words);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{words}");
        assert!(said.err.contains(hint), "{words}: {}", said.err);
    }
}

#[test]
fn wrong_words_under_json_are_one_document() {
    let said = Ground::new().run("lst -o json");
    assert_eq!(said.code, 1);
    let document = said.json();
    schema::check("error", &document);
    assert_eq!(document["error"]["exit_code"], 1);
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("'list'"), "{message}");
}

#[test]
fn the_catalog_is_listed_one_name_a_line() {
    let said = Ground::new().run("list");
    assert_eq!(said.code, 0);
    assert_eq!(said.out, "scx_one\nscx_two\n");
    assert_eq!(said.err, "");
}

#[test]
fn the_catalog_is_listed_for_programs() {
    let ground = Ground::new();
    let document = ground.run("list -o json").json();
    schema::check("list", &document);
    let schedulers = serde_json::json!([
        {"name": "scx_one", "image": "a.example/one:latest"},
        {"name": "scx_two", "image": "a.example/two:1.0"},
    ]);
    assert_eq!(document["schedulers"], schedulers);
    assert_eq!(document["warnings"], serde_json::json!([]));
    assert_eq!(document["catalog"]["origin"], "location");
    let path = ground.path("catalog.json").display().to_string();
    assert_eq!(document["catalog"]["location"], path);
}

#[test]
fn a_flag_beats_the_environment_and_that_the_file() {
    let ground = Ground::new();
    let other = |name: &str| {
        let text = CATALOG.replace("scx_one", name);
        ground.write(&format!("{name}.json"), &text)
    };
    let (flag, file) = (other("from_flag"), other("from_file"));
    ground.write("config.toml", &format!("catalog = {file:?}"));
    let said = ground.run(&format!("list --catalog {flag}"));
    assert!(said.out.contains("from_flag"));
    assert!(ground.run("list").out.contains("scx_one"));
    let said = said_without_catalog(&ground);
    assert!(said.out.contains("from_file"), "{}", said.err);
}

fn said_without_catalog(ground: &Ground) -> Said {
    said(ground.command().env_remove("SCHEDCTL_CATALOG").arg("list"))
}

#[test]
fn a_broken_settings_file_is_told_with_its_line() {
    let ground = Ground::new();
    let path = ground.write("config.toml", "# ours\n\ncatalgo = \"/x\"\n");
    let said = ground.run("list");
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    let line = format!("{path}, line 3: unknown field `catalgo`, expected one of `driver`");
    assert!(said.err.contains(&line), "{}", said.err);
    let said = ground.run("list --config none.toml");
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("none.toml cannot be read: No such file"),
        "{}",
        said.err
    );
}

#[test]
fn a_broken_catalog_is_told_with_its_line() {
    let ground = Ground::new();
    ground.write("broken.json", &CATALOG.replace("scx_two", "scx_one"));
    let said = ground.run("list --catalog broken.json -o json");
    assert_eq!(said.code, 1);
    let why = "broken.json is invalid: line 3, column 11: scx_one is listed twice";
    assert!(said.err.contains(why), "{}", said.err);
    let message = said.json()["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains(why), "{message}");
    assert!(!said.err.contains("warning"), "{}", said.err);
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let ground = Ground::new();
    for (words, hint) in [
        ("info scx_oen", "did you mean scx_one?"),
        ("versions two", "did you mean scx_two?"),
        ("verify scx_two:2.0", "did you mean a.example/two:2.0?"),
        ("info nothing-like-it", "`schedctl list` shows the names"),
        ("info library/nginx", "begins with its registry's host"),
    ] {
        let said = ground.run(words);
        assert_eq!(said.code, 1, "{words}");
        assert!(said.err.contains(hint), "{words}: {}", said.err);
    }
}

#[test]
fn nothing_in_a_pipe_has_colour() {
    let ground = Ground::new();
    for words in ["list", "--help", "info nothing", "lst"] {
        let said = ground.run(words);
        assert!(
            !said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'),
            "{words}"
        );
    }
}

#[test]
fn who_stops_reading_gets_no_complaint() {
    let ground = Ground::new();
    let mut command = std::process::Command::new(ground.command().get_program());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command
        .args([
            "list",
            "--config",
            "config.toml",
            "--catalog",
            "catalog.json",
        ])
        .current_dir(ground.folder.path())
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}

#[test]
fn a_result_that_cannot_be_written_is_trouble() {
    let ground = Ground::new();
    let mut command = std::process::Command::new(ground.command().get_program());
    let output = command
        .args([
            "list",
            "--config",
            "config.toml",
            "--catalog",
            "catalog.json",
        ])
        .current_dir(ground.folder.path())
        .stdout(fs::File::create("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_catalog_over_http_is_fetched_once() {
    let ground = Ground::new();
    let file = ("/c.json".to_owned(), CATALOG.to_owned());
    let server = Server::start(Files::from([file]));
    let url = format!("http://{}/c.json", server.address);
    for (had, answered) in [(None, 200), (Some("\"1\""), 304)] {
        let said = ground.run(&format!("list --catalog {url}"));
        assert_eq!((said.code, said.out.as_str()), (0, "scx_one\nscx_two\n"));
        let visit = server.next_visit();
        assert_eq!((visit.had.as_deref(), visit.answered), (had, answered));
    }
    server.stop();
    let said = ground.run(&format!("list --catalog {url}"));
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("cannot be used"), "{}", said.err);
}
