//! Runs tests in the copy of the tree and reports whether they notice a patch.

use std::fmt;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::ensure;

/// Seconds.
const BUILD_TIMEOUT: &str = "1800";
/// The exit code of `timeout` for a command that it killed.
const TIMED_OUT: i32 = 124;

pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// It judges patches of this crate only.
    pub(crate) krate: &'static str,
    /// Cargo commands before the tests.
    preparation: &'static [&'static [&'static str]],
    /// Run in this order until one fails.
    runs: &'static [TestRun],
    /// Seconds per run. A test that does not end has noticed the patch, too.
    timeout: &'static str,
}

struct TestRun {
    tests: &'static [&'static str],
    /// Arguments of the test program.
    args: &'static [&'static str],
}

/// Of two of one crate the fast one first: only patches that it does not notice go to the second.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "without a lab",
        krate: "crates/schedkit-image/",
        preparation: &[],
        runs: &[
            TestRun {
                tests: &["--package", "schedkit-image", "--test", "verdicts"],
                args: &[],
            },
            TestRun {
                tests: &["--package", "schedkit-image", "--lib"],
                args: &[],
            },
            TestRun {
                tests: &["--package", "schedkit-image", "--test", "faults"],
                args: &[],
            },
        ],
        timeout: "120",
    },
    Suite {
        name: "with a lab",
        krate: "crates/schedkit-image/",
        preparation: &[&[
            "build",
            "--package",
            "lab",
            "--package",
            "schedctl",
            "--bins",
        ]],
        runs: &[TestRun {
            tests: &["--package", "e2e", "--test", "host"],
            args: &["trust::", "--test-threads=1"],
        }],
        timeout: "900",
    },
    Suite {
        name: "the model of roll-outs",
        krate: "crates/sked-plan/",
        preparation: &[],
        runs: &[TestRun {
            tests: &["--package", "sked-plan", "--test", "properties"],
            args: &["model::the_bounds"],
        }],
        timeout: "600",
    },
];

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Failed {
        /// The names of the failed tests.
        tests: String,
        output: String,
    },
    Passed,
    /// The tree does not compile, which proves nothing.
    BuildFailed {
        output: String,
    },
}

impl Suite {
    /// Builds what the tests need.
    pub(crate) fn prepare(&self, copy: &Path) -> anyhow::Result<()> {
        for command in self.preparation {
            let built = cargo(copy, command, BUILD_TIMEOUT)?;
            ensure!(built.status.success(), "{}", text(&built));
        }
        Ok(())
    }

    /// Compiles first, so that a failed build is not taken for a failed test.
    pub(crate) fn run(&self, copy: &Path) -> anyhow::Result<Outcome> {
        for command in self.preparation {
            let built = cargo(copy, command, BUILD_TIMEOUT)?;
            if !built.status.success() {
                let output = text(&built);
                return Ok(Outcome::BuildFailed { output });
            }
        }
        for run in self.runs {
            let test = [&["test", "--quiet"], run.tests].concat();
            let built = cargo(copy, &[&test[..], &["--no-run"]].concat(), BUILD_TIMEOUT)?;
            if !built.status.success() {
                let output = text(&built);
                return Ok(Outcome::BuildFailed { output });
            }
            let finished = cargo(copy, &[&test[..], &["--"], run.args].concat(), self.timeout)?;
            if !finished.status.success() {
                let output = text(&finished);
                let tests = match finished.status.code() {
                    Some(TIMED_OUT) => "a test that did not end".to_owned(),
                    _ => failed_tests(&output),
                };
                return Ok(Outcome::Failed { tests, output });
            }
        }
        Ok(Outcome::Passed)
    }
}

fn cargo(copy: &Path, args: &[&str], timeout: &str) -> std::io::Result<Output> {
    let (verb, rest) = args.split_at(1);
    Command::new("timeout")
        .args(["--kill-after=10", timeout, "cargo"])
        .args(verb)
        .arg("--locked")
        .args(rest)
        .env("CARGO_TARGET_DIR", copy.with_file_name("build"))
        // Without debug information the tests link faster.
        .env("CARGO_PROFILE_DEV_DEBUG", "none")
        .current_dir(copy)
        .output()
}

fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// The names below the last `failures:`.
fn failed_tests(output: &str) -> String {
    let names = output
        .rsplit_once("\nfailures:\n")
        .map_or("", |(_, rest)| rest);
    let names: Vec<&str> = names
        .lines()
        .take_while(|line| line.starts_with("    "))
        .map(str::trim)
        .collect();
    if names.is_empty() {
        return "a test program that crashed".to_owned();
    }
    names.join(", ")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { tests, .. } => write!(f, "noticed by {tests}"),
            Self::Passed => f.write_str("NOT NOTICED"),
            Self::BuildFailed { .. } => f.write_str("DOES NOT COMPILE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_named() {
        let output = "running 2 tests\n\nfailures:\n\n---- a::b stdout ----\n\nfailures:\n    a::b\n    a::c\n\ntest result: FAILED.";
        assert_eq!(failed_tests(output), "a::b, a::c");
        assert_eq!(failed_tests("signal: 9"), "a test program that crashed");
    }
}
