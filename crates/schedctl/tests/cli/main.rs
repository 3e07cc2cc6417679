//! The program itself: its arguments, streams and exit codes. Registry, web server and container
//! runtime are small servers in this process; no root, no kernel, no network.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod enable;
mod fake_podman;
mod forbidden;
mod habits;
mod hanging_runtime;
mod inspect;
mod interrupt;
mod kept_verdicts;
mod logs;
mod policy;
mod prune;
mod registry;
mod schemas;
mod server;
mod stop;
mod troubleshooting;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const CATALOG: &str = r#"{
  "scx_one": { "imageURI": "a.example/one" },
  "scx_two": { "imageURI": "a.example/two:1.0" }
}"#;

/// A directory with a catalog and an empty settings file, so that this machine's are not used.
struct Fixture {
    folder: TempDir,
}

struct Output {
    code: i32,
    out: String,
    err: String,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fixture.write("catalog.json", CATALOG);
        fixture.write("config.toml", "");
        fixture
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
            .env("SCHEDCTL_CACHE", self.path("cache"))
            .env("SCHEDCTL_STATE", self.path("state"));
        command
    }

    fn run(&self, args: &str) -> Output {
        run(self.command().args(args.split_whitespace()))
    }

    /// As root of a user namespace, with an empty `/run` that `prepare`, a shell script, may fill.
    fn run_with_own_state(&self, prepare: &str, args: &str) -> Output {
        let script = format!("mount -t tmpfs run /run && {prepare} && exec \"$@\"");
        let schedctl = self.command();
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .args([script.as_str(), "sh"])
            .arg(schedctl.get_program())
            .args(args.split_whitespace())
            .current_dir(self.folder.path())
            .envs(
                schedctl
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        run(&mut command)
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    Output {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Output {
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
fn help_texts_match_the_golden_files() {
    let fixture = Fixture::new();
    for command in ["", "list", "versions", "info", "verify"]
        .into_iter()
        .chain([
            "status",
            "ps",
            "doctor",
            "events",
            "wait",
            "config",
            "completion",
            "policy",
            "policy check",
            "policy explain",
            "trust",
            "trust status",
            "trust update",
        ])
    {
        let output = fixture.run(&format!("{command} --help"));
        assert_eq!((output.code, output.err.as_str()), (0, ""));
        let name = match command {
            "" => "schedctl".to_owned(),
            _ => command.replace(' ', "-"),
        };
        golden(&format!("{name}.txt"), &output.out);
    }
}

#[test]
fn the_version_is_printed() {
    let output = Fixture::new().run("--version");
    assert_eq!(output.code, 0);
    assert_eq!(
        output.out,
        format!("schedctl {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_arguments_fail_with_a_hint() {
    let fixture = Fixture::new();
    for (args, hint) in [
        ("", "Usage: schedctl"),
        ("lst", "'list'"),
        ("list --catalgo x", "'--catalog'"),
        ("list -o yaml", "json"),
        ("info", "<NAME|REF>"),
        ("info a b", "unexpected argument 'b'"),
    ] {
        let output = fixture.run(args);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{args}");
        assert!(output.err.contains(hint), "{args}: {}", output.err);
    }
}

#[test]
fn wrong_arguments_with_json_are_one_document() {
    let output = Fixture::new().run("lst -o json");
    assert_eq!(output.code, 1);
    let document = output.json();
    schedctl_schemas::check("error", &document);
    assert_eq!(document["error"]["exit_code"], 1);
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("'list'"), "{message}");
}

#[test]
fn the_catalog_is_listed_one_name_per_line() {
    let output = Fixture::new().run("list");
    assert_eq!(output.code, 0);
    assert_eq!(output.out, "scx_one\nscx_two\n");
    assert_eq!(output.err, "");
}

#[test]
fn the_catalog_is_listed_as_json() {
    let fixture = Fixture::new();
    let document = fixture.run("list -o json").json();
    schedctl_schemas::check("list", &document);
    let schedulers = serde_json::json!([
        {"name": "scx_one", "image": "a.example/one:latest"},
        {"name": "scx_two", "image": "a.example/two:1.0"},
    ]);
    assert_eq!(document["schedulers"], schedulers);
    assert_eq!(document["warnings"], serde_json::json!([]));
    assert_eq!(document["catalog"]["origin"], "location");
    let path = fixture.path("catalog.json").display().to_string();
    assert_eq!(document["catalog"]["location"], path);
}

#[test]
fn precedence_is_flag_environment_file() {
    let fixture = Fixture::new();
    let other = |name: &str| {
        let text = CATALOG.replace("scx_one", name);
        fixture.write(&format!("{name}.json"), &text)
    };
    let (flag, file) = (other("from_flag"), other("from_file"));
    fixture.write("config.toml", &format!("catalog = {file:?}"));
    let output = fixture.run(&format!("list --catalog {flag}"));
    assert!(output.out.contains("from_flag"));
    assert!(fixture.run("list").out.contains("scx_one"));
    let output = list_without_catalog(&fixture);
    assert!(output.out.contains("from_file"), "{}", output.err);
}

fn list_without_catalog(fixture: &Fixture) -> Output {
    run(fixture.command().env_remove("SCHEDCTL_CATALOG").arg("list"))
}

#[test]
fn an_invalid_settings_file_is_reported_with_its_line() {
    let fixture = Fixture::new();
    let path = fixture.write("config.toml", "# ours\n\ncatalgo = \"/x\"\n");
    let output = fixture.run("list");
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    let line = format!("{path}, line 3: unknown field `catalgo`, expected one of `driver`");
    assert!(output.err.contains(&line), "{}", output.err);
    let output = fixture.run("list --config none.toml");
    assert_eq!(output.code, 1);
    assert!(
        output
            .err
            .contains("none.toml cannot be read: No such file"),
        "{}",
        output.err
    );
}

#[test]
fn an_invalid_catalog_is_reported_with_its_line() {
    let fixture = Fixture::new();
    fixture.write("broken.json", &CATALOG.replace("scx_two", "scx_one"));
    let output = fixture.run("list --catalog broken.json -o json");
    assert_eq!(output.code, 1);
    let why = "broken.json is invalid: line 3, column 11: scx_one is listed twice";
    assert!(output.err.contains(why), "{}", output.err);
    let message = output.json()["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains(why), "{message}");
    assert!(!output.err.contains("warning"), "{}", output.err);
}

#[test]
fn an_unknown_name_is_answered_with_a_similar_one() {
    let fixture = Fixture::new();
    for (args, hint) in [
        ("info scx_oen", "did you mean scx_one?"),
        ("versions two", "did you mean scx_two?"),
        ("verify scx_two:2.0", "did you mean a.example/two:2.0?"),
        ("info nothing-like-it", "`schedctl list` shows the names"),
        ("info library/nginx", "begins with its registry's host"),
    ] {
        let output = fixture.run(args);
        assert_eq!(output.code, 1, "{args}");
        assert!(output.err.contains(hint), "{args}: {}", output.err);
    }
}

#[test]
fn output_to_a_pipe_has_no_colour() {
    let fixture = Fixture::new();
    for args in ["list", "--help", "info nothing", "lst"] {
        let output = fixture.run(args);
        assert!(
            !output.out.contains('\u{1b}') && !output.err.contains('\u{1b}'),
            "{args}"
        );
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let fixture = Fixture::new();
    let mut command = std::process::Command::new(fixture.command().get_program());
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
        .current_dir(fixture.folder.path())
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let fixture = Fixture::new();
    let mut command = std::process::Command::new(fixture.command().get_program());
    let output = command
        .args([
            "list",
            "--config",
            "config.toml",
            "--catalog",
            "catalog.json",
        ])
        .current_dir(fixture.folder.path())
        .stdout(fs::File::create("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}
