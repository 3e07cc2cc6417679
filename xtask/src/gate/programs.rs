//! The one build: every program and every test of the workspace, with one set of features. cargo
//! names the test programs it made; nothing is listed by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::ensure;
use serde::Deserialize;

use super::process::Ended;

const BUILD: &str = "test --workspace --exclude scx_lab --features xtask/manifests --locked --no-run \
                     --message-format=json-render-diagnostics";

/// A test program as cargo built it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    pub(super) name: String,
    /// The folder of its package, in which tests expect to run.
    package: PathBuf,
    executable: PathBuf,
    is_test_target: bool,
}

#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl TestProgram {
    /// Whether it needs a lab.
    pub(super) fn is_suite(&self) -> bool {
        self.is_test_target && self.package.ends_with("e2e")
    }

    pub(super) fn is_long(&self) -> bool {
        self.name.starts_with("long_")
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.package);
        command
    }

    /// As an argument of another command at the top of the tree.
    pub(super) fn wrapped(&self, wrapper: &str) -> Command {
        let mut command = Command::new(wrapper);
        command.arg(&self.executable);
        command
    }

    /// Whether one of its tests has this in its name.
    pub(super) fn has(&self, name: &str) -> anyhow::Result<bool> {
        let output = self.command().args(["--list", name]).output()?;
        ensure!(
            output.status.success(),
            "{} --list failed",
            self.executable.display()
        );
        Ok(String::from_utf8_lossy(&output.stdout).contains(": test"))
    }
}

/// Where programs of the workspace are built.
pub(super) fn folder() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let triple = std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default();
    target.join(triple).join("debug")
}

/// Builds everything. No tests: it failed.
pub(super) fn build() -> (Ended, Option<Vec<TestProgram>>) {
    let begin = Instant::now();
    let mut cargo = Command::new("cargo");
    cargo
        .args(BUILD.split_whitespace())
        .stderr(Stdio::inherit());
    let output = match cargo.output() {
        Ok(output) => output,
        Err(error) => {
            let cause = format!("cannot start cargo: {error}");
            return (Ended::failed(cause, begin.elapsed()), None);
        }
    };
    if !output.status.success() {
        let cause = "the workspace does not compile, see above".to_owned();
        return (Ended::failed(cause, begin.elapsed()), None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    (Ended::success(begin.elapsed()), Some(parse(&text)))
}

fn parse(text: &str) -> Vec<TestProgram> {
    let mut tests: Vec<_> = text.lines().filter_map(test_program).collect();
    tests.sort_by(|one, other| (&one.package, &one.name).cmp(&(&other.package, &other.name)));
    tests
}

fn test_program(line: &str) -> Option<TestProgram> {
    let message: Message = serde_json::from_str(line).ok()?;
    let target = message.target?;
    if !message.profile?.test {
        return None;
    }
    Some(TestProgram {
        name: target.name,
        package: message.manifest_path?.parent().map(Path::to_owned)?,
        executable: message.executable?,
        is_test_target: target.kind.iter().any(|kind| kind == "test"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(package: &str, kind: &str, name: &str, test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/{package}/Cargo.toml",
            "target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{test}}},
            "executable":"/w/target/debug/deps/{name}-1"}}"#
        )
        .replace('\n', " ")
    }

    #[test]
    fn test_programs_are_found_and_suites_are_those_of_e2e() {
        let lines = [
            artifact("crates/sked", "bin", "sked", false),
            artifact("crates/sked", "bin", "sked", true),
            artifact("e2e", "lib", "testkit", true),
            artifact("e2e", "test", "machine", true),
            artifact("e2e", "test", "long_faults", true),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "not json".to_owned(),
        ];
        let tests = parse(&lines.join("\n"));
        let names: Vec<_> = tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["sked", "long_faults", "machine", "testkit"]);
        let suites: Vec<_> = tests.iter().map(TestProgram::is_suite).collect();
        assert_eq!(suites, [false, true, true, false]);
        assert!(tests[1].is_long() && !tests[2].is_long());
    }
}
