//! Runs tests in the copy of the tree, and tells what became of a mutant. Called by `mutants` only.

use std::fmt;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::ensure;

/// Seconds; longer than any build takes.
const LONGEST_BUILD: &str = "1800";
/// What `timeout` says of a command that it ended.
const ENDED: i32 = 124;

/// Tests that are asked together.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// What its tests run, built before each run.
    needs: &'static [&'static [&'static str]],
    /// What is asked of `cargo test`, one after the other, until one is red.
    steps: &'static [Step],
    /// Seconds; longer than any step takes. A test that waits for ever has missed something, too.
    longest: &'static str,
}

struct Step {
    tests: &'static [&'static str],
    words: &'static [&'static str],
}

/// The quick one first: what it misses is not shown to the other.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "without a lab",
        needs: &[],
        steps: &[
            Step {
                tests: &["--package", "schedkit-image", "--test", "verdicts"],
                words: &[],
            },
            Step {
                tests: &["--package", "schedkit-image", "--lib"],
                words: &[],
            },
            Step {
                tests: &["--package", "schedkit-image", "--test", "faults"],
                words: &[],
            },
        ],
        longest: "120",
    },
    Suite {
        name: "with a lab",
        needs: &[&["build", "--package", "lab", "--package", "schedctl", "--bins"]],
        steps: &[Step {
            tests: &["--package", "e2e", "--test", "host"],
            words: &["trust::", "--test-threads=1"],
        }],
        longest: "900",
    },
];

/// How a mutant fared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// A test went red.
    Missed {
        /// Which ones did.
        by: String,
        /// All that they said.
        said: String,
    },
    /// All tests stayed green.
    Unnoticed,
    /// It does not compile, which proves nothing.
    Broken {
        /// What the compiler said.
        said: String,
    },
}

impl Suite {
    /// Builds what the tests need beside themselves.
    pub(crate) fn prepare(&self, copy: &Path) -> anyhow::Result<()> {
        for need in self.needs {
            let built = cargo(copy, need, LONGEST_BUILD)?;
            ensure!(built.status.success(), "{}", said(&built));
        }
        Ok(())
    }

    /// Compiling is a step of its own, so that its failure is not taken for a red test.
    pub(crate) fn fate(&self, copy: &Path) -> anyhow::Result<Fate> {
        for need in self.needs {
            let built = cargo(copy, need, LONGEST_BUILD)?;
            if !built.status.success() {
                let said = said(&built);
                return Ok(Fate::Broken { said });
            }
        }
        for step in self.steps {
            let test = [&["test", "--quiet"], step.tests].concat();
            let built = cargo(copy, &[&test[..], &["--no-run"]].concat(), LONGEST_BUILD)?;
            if !built.status.success() {
                let said = said(&built);
                return Ok(Fate::Broken { said });
            }
            let run = cargo(
                copy,
                &[&test[..], &["--"], step.words].concat(),
                self.longest,
            )?;
            if !run.status.success() {
                let said = said(&run);
                let by = match run.status.code() {
                    Some(ENDED) => "a test that did not end".to_owned(),
                    _ => red(&said),
                };
                return Ok(Fate::Missed { by, said });
            }
        }
        Ok(Fate::Unnoticed)
    }
}

fn cargo(copy: &Path, words: &[&str], longest: &str) -> std::io::Result<Output> {
    let (verb, rest) = words.split_at(1);
    Command::new("timeout")
        .args(["--kill-after=10", longest, "cargo"])
        .args(verb)
        .arg("--locked")
        .args(rest)
        .env("CARGO_TARGET_DIR", copy.with_file_name("build"))
        // Nobody debugs a mutant; without debug information it is linked sooner.
        .env("CARGO_PROFILE_DEV_DEBUG", "none")
        .current_dir(copy)
        .output()
}

fn said(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// The names below the last `failures:`; what the tests said before stays unread.
fn red(said: &str) -> String {
    let names = said
        .rsplit_once("\nfailures:\n")
        .map_or("", |(_, rest)| rest);
    let names: Vec<&str> = names
        .lines()
        .take_while(|line| line.starts_with("    "))
        .map(str::trim)
        .collect();
    if names.is_empty() {
        return "a program that ended before its tests".to_owned();
    }
    names.join(", ")
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missed { by, .. } => write!(f, "missed by {by}"),
            Self::Unnoticed => f.write_str("NOT MISSED"),
            Self::Broken { .. } => f.write_str("DOES NOT COMPILE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_red_tests_are_named() {
        let said = "running 2 tests\n\nfailures:\n\n---- a::b stdout ----\n\nfailures:\n    a::b\n    a::c\n\ntest result: FAILED.";
        assert_eq!(red(said), "a::b, a::c");
        assert_eq!(red("signal: 9"), "a program that ended before its tests");
    }
}
