//! `make test`, `make e2e` and `make test-long`: builds everything once, runs the suites, and ends
//! with a table of times. A suite that fails does not hide the ones after it; for each, the last
//! lines name the suite, the cause and the command that runs just it again.
//!
//! ```text
//! lab program ─┬▶ lab prepare ─┬▶ suites, from the slowest ────────────────────┐
//!              └▶ build ───────┴▶ lint, unit, fuzz ─▶ suites, from the quickest ─┴▶ table
//! ```
//!
//! A suite waits for answers half of the time, so `make test` runs two at once; the other commands
//! run one after the other.

mod cause;
mod disk_space;
mod process;
mod programs;
mod summary;
mod terminal;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure};

use process::{Background, Ended, run, run_suite};
use programs::{TestProgram, build};
use summary::{Row, Summary};
use terminal::println;

/// Suites that boot nodes, the slowest last: they are run once more when the kernel of an emulated
/// node panicked.
const EMULATED: &[&str] = &["machine", "cluster"];
/// A suite that takes longer hangs.
const SUITE_LIMIT: Duration = Duration::from_secs(40 * 60);
const LONG_SUITE_LIMIT: Duration = Duration::from_secs(120 * 60);
/// What the gate's labs are made from.
const PARTS: &[&str] = &["prepare", "--nodes", "2", "--kwok", "--signing", "sigstore"];
const TOOLS: &[&str] = &["helm", "prometheus"];

/// Everything that must be green before a change lands.
pub(crate) fn test() -> anyhow::Result<bool> {
    let gate = Gate::default();
    let Some(lab) = gate.lab_program() else {
        return gate.finish();
    };
    let parts = prepare(&lab)?;
    let tests = gate.build();
    let tests = tests.as_deref().unwrap_or_default();
    let suites = Mutex::new(gate_suites(tests));
    let next = |take: fn(&mut VecDeque<_>) -> Option<_>| take(&mut lock(&suites));
    let ready = LazyLock::new(|| gate.parts(parts));
    thread::scope(|scope| {
        scope.spawn(|| {
            if *ready {
                gate.suites(std::iter::from_fn(|| next(VecDeque::pop_back)));
            }
        });
        gate.lint();
        if !tests.is_empty() {
            gate.unit(tests);
        }
        let mut fuzz = Command::new("fuzz/run");
        gate.command("fuzz", fuzz.arg("2").env("FUZZ_SEED", "1"), "make fuzz");
        if *ready {
            gate.scx_lab();
            gate.suites(std::iter::from_fn(|| next(VecDeque::pop_front)));
        }
    });
    gate.finish()
}

/// Format, clippy, rustdoc, tidy.
pub(crate) fn lint() -> anyhow::Result<bool> {
    let gate = Gate::default();
    gate.lint();
    gate.finish()
}

/// All tests that need no lab.
pub(crate) fn unit() -> anyhow::Result<bool> {
    let gate = Gate::default();
    if let Some(tests) = gate.build() {
        gate.unit(&tests);
    }
    gate.finish()
}

/// The suites of the gate, or those suites and tests that are named.
pub(crate) fn e2e(names: &[String]) -> anyhow::Result<bool> {
    let gate = Gate::default();
    let Some(lab) = gate.lab_program() else {
        return gate.finish();
    };
    let parts = prepare(&lab)?;
    let tests = gate.build();
    let ready = gate.parts(parts);
    if let (Some(tests), true) = (&tests, ready) {
        if names.is_empty() {
            gate.suites(gate_suites(tests).into_iter());
        }
        for name in names {
            gate.named(tests, name)?;
        }
    }
    gate.finish()
}

/// The suites that take too long for every change, or those that are named.
pub(crate) fn long(names: &[String]) -> anyhow::Result<bool> {
    let gate = Gate::default();
    if let Some(tests) = gate.build() {
        let all: Vec<_> = suites(&tests).filter(|suite| suite.is_long()).collect();
        for name in names {
            let known: Vec<&str> = all.iter().map(|suite| suite.name.as_str()).collect();
            ensure!(
                known.contains(&name.as_str()),
                "no suite is called {name:?}: the long ones are {}",
                known.join(", ")
            );
        }
        let named = |suite: &&TestProgram| names.is_empty() || names.contains(&suite.name);
        gate.suites(all.into_iter().filter(named));
    }
    gate.finish()
}

fn suites(tests: &[TestProgram]) -> impl Iterator<Item = &TestProgram> {
    tests.iter().filter(|test| test.is_suite())
}

/// Those without emulated nodes first: a mistake shows soon.
fn gate_suites(tests: &[TestProgram]) -> VecDeque<&TestProgram> {
    let mut suites: Vec<_> = suites(tests).filter(|suite| !suite.is_long()).collect();
    suites.sort_by_key(|suite| EMULATED.iter().position(|name| *name == suite.name));
    suites.into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes what labs are put together from while the workspace is compiled.
fn prepare(lab: &Path) -> anyhow::Result<Background> {
    let lab = lab.display();
    let mut script = format!("{lab} {}", PARTS.join(" "));
    for tool in TOOLS {
        script += &format!(" && {lab} tool {tool}");
    }
    Background::start("lab", Command::new("sh").args(["-c", &script]))
}

#[derive(Default)]
struct Gate {
    summary: Mutex<Summary>,
}

impl Gate {
    /// Builds the `lab` program with the features of the whole workspace, so that nothing of it
    /// is built twice.
    fn lab_program(&self) -> Option<PathBuf> {
        let mut cargo = Command::new("cargo");
        cargo.args("build --quiet --locked --workspace --exclude scx_lab --bin lab".split(' '));
        self.command("lab program", &mut cargo, "cargo build --package lab")
            .then(|| programs::folder().join("lab"))
    }

    fn lint(&self) {
        let fmt = "fmt --all --check";
        let clippy = "clippy --quiet --workspace --exclude scx_lab --all-targets --all-features --locked -- -D warnings";
        let doc = "doc --workspace --exclude scx_lab --no-deps --locked --quiet";
        let tidy = "run --quiet --package xtask -- tidy";
        for (name, args) in [
            ("format", fmt),
            ("clippy", clippy),
            ("rustdoc", doc),
            ("tidy", tidy),
        ] {
            let mut cargo = Command::new("cargo");
            cargo
                .args(args.split(' '))
                .env("RUSTDOCFLAGS", "-D warnings");
            self.command(name, &mut cargo, "make lint");
        }
    }

    fn build(&self) -> Option<Vec<TestProgram>> {
        let (ended, tests) = build();
        self.record("build", ended, "cargo test --workspace --no-run");
        tests
    }

    /// All tests that need no lab.
    fn unit(&self, tests: &[TestProgram]) {
        let mut all = Ended::success(Duration::ZERO);
        for test in tests.iter().filter(|test| !test.is_suite()) {
            all = all.and(run(&mut test.command(), SUITE_LIMIT));
        }
        // What must not compile: the only tests that no test program holds.
        let mut doc = Command::new("cargo");
        doc.args("test --quiet --locked --workspace --exclude scx_lab --doc".split(' '));
        all = all.and(run(&mut doc, SUITE_LIMIT));
        self.record("unit", all, "make unit");
    }

    fn suites<'a>(&self, suites: impl Iterator<Item = &'a TestProgram>) {
        for suite in suites {
            self.suite(suite, &[]);
        }
    }

    fn suite(&self, suite: &TestProgram, args: &[&str]) {
        let limit = if suite.is_long() {
            LONG_SUITE_LIMIT
        } else {
            SUITE_LIMIT
        };
        let mut command = suite.command();
        if suite.is_long() || EMULATED.contains(&suite.name.as_str()) {
            command = suite.wrapped("lab/on-emulated-nodes");
        }
        command.args(["--test-threads=1"]).args(args);
        let again = match suite.is_long() {
            true => format!("make test-long T={}", suite.name),
            false => format!("make e2e T={}", suite.name),
        };
        let ended = run_suite(&suite.name, &mut command, limit);
        self.record(&suite.name, ended, &again);
    }

    /// A suite, or all tests whose name contains `name`.
    fn named(&self, tests: &[TestProgram], name: &str) -> anyhow::Result<()> {
        if let Some(suite) = suites(tests).find(|suite| suite.name == name) {
            self.suite(suite, &[]);
            return Ok(());
        }
        let mut found = false;
        for suite in suites(tests) {
            if suite.has(name)? {
                found = true;
                self.suite(suite, &[name, "--nocapture"]);
            }
        }
        let all: Vec<&str> = suites(tests).map(|suite| suite.name.as_str()).collect();
        ensure!(
            found,
            "no suite and no test is called {name:?}: the suites are {}",
            all.join(", ")
        );
        Ok(())
    }

    fn parts(&self, parts: Background) -> bool {
        self.record("lab parts (meanwhile)", parts.wait(), "make prepare")
    }

    /// The lab's scheduler links libbpf, which is not static, and needs packages that come with the
    /// lab's parts.
    fn scx_lab(&self) {
        let target = [
            "--package",
            "scx_lab",
            "--target",
            "x86_64-unknown-linux-gnu",
        ];
        let mut clippy = Command::new("cargo");
        clippy.args(["clippy", "--quiet", "--locked", "--all-targets"]);
        clippy.args(target).args(["--", "-D", "warnings"]);
        let mut test = Command::new("cargo");
        test.args(["test", "--quiet", "--locked"]).args(target);
        let ended = run(&mut clippy, SUITE_LIMIT).and(run(&mut test, SUITE_LIMIT));
        self.record("scx_lab", ended, "cargo test --package scx_lab");
    }

    fn command(&self, name: &str, command: &mut Command, again: &str) -> bool {
        let ended = run(command, SUITE_LIMIT);
        self.record(name, ended, again)
    }

    fn record(&self, name: &str, ended: Ended, again: &str) -> bool {
        let row = Row {
            name: name.to_owned(),
            again: again.to_owned(),
            ended,
        };
        println(&row.line());
        let success = row.ended.success;
        let mut summary = lock(&self.summary);
        summary.rows.push(row);
        success
    }

    fn finish(&self) -> anyhow::Result<bool> {
        let summary = lock(&self.summary);
        println(&summary.to_string());
        if summary.rows.is_empty() {
            bail!("nothing was run");
        }
        Ok(summary.rows.iter().all(|row| row.ended.success))
    }
}
