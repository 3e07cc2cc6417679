//! Applies patches to the verifier and to sked's planner, one at a time, each removing one check; a
//! test must fail.
//!
//! cargo-mutants makes most mutations (`.cargo/mutants.toml`); `patches` has those it cannot
//! express. The work is done in a copy of the tree, so an interrupted run leaves only that copy.

mod patches;
mod suite;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};

use suite::{Outcome, SUITES, Suite};

pub(crate) struct Patch {
    /// The check that the patch removes.
    pub(crate) removed: &'static str,
    /// Relative to the root of the tree.
    pub(crate) file: &'static str,
    /// Texts that occur exactly once in the file, and their replacements.
    pub(crate) changes: &'static [(&'static str, &'static str)],
}

/// One complaint for each patch that no test notices. With `filters`, only patches are applied
/// whose name contains one of them.
pub(crate) fn run(root: &Path, filters: &[String]) -> anyhow::Result<Vec<String>> {
    let copy = root.canonicalize()?.join("target/mutants/tree");
    copy_tree(root, &copy)?;
    let mut left: Vec<&Patch> = patches::all()
        .filter(|patch| matches_any(patch, filters))
        .collect();
    ensure!(!left.is_empty(), "no patch matches");
    for suite in SUITES {
        let (judged, others): (Vec<&Patch>, _) = left
            .into_iter()
            .partition(|patch| patch.file.starts_with(suite.krate));
        left = others;
        if !judged.is_empty() {
            left.extend(unnoticed_by(suite, &copy, &judged)?);
        }
    }
    let complaint = |patch: &Patch| format!("no test notices the removal of: {}", patch.removed);
    Ok(left.into_iter().map(complaint).collect())
}

fn matches_any(patch: &Patch, filters: &[String]) -> bool {
    filters.is_empty() || filters.iter().any(|filter| patch.removed.contains(filter))
}

/// The patches that a suite does not notice. The suite must pass without a patch.
fn unnoticed_by<'a>(
    suite: &Suite,
    copy: &Path,
    patches: &[&'a Patch],
) -> anyhow::Result<Vec<&'a Patch>> {
    let mut out = std::io::stdout();
    let start = Instant::now();
    suite.prepare(copy)?;
    let unpatched = suite.run(copy)?;
    ensure!(
        unpatched == Outcome::Passed,
        "tests fail without a patch: {unpatched}"
    );
    let seconds = start.elapsed().as_secs();
    writeln!(out, "{}: passes without a patch ({seconds} s)", suite.name)?;
    let mut unnoticed = Vec::new();
    for (position, patch) in patches.iter().enumerate() {
        let start = Instant::now();
        let outcome = with_patch(copy, patch, || suite.run(copy))
            .with_context(|| format!("without {}", patch.removed))?;
        let (number, count) = (position + 1, patches.len());
        let seconds = start.elapsed().as_secs();
        writeln!(
            out,
            "[{number:2}/{count}] {seconds:3} s  {}: {outcome}",
            patch.removed
        )?;
        match outcome {
            Outcome::Passed => unnoticed.push(*patch),
            Outcome::Failed { output, .. } => write_output(copy, patch, &output)?,
            Outcome::BuildFailed { output } => {
                write_output(copy, patch, &output)?;
                unnoticed.push(*patch);
            }
        }
    }
    Ok(unnoticed)
}

/// Writes the output of the tests, which shows whether a bad signature was accepted or refused for
/// another reason.
fn write_output(copy: &Path, patch: &Patch, output: &str) -> anyhow::Result<()> {
    let folder = copy.with_file_name("output");
    fs::create_dir_all(&folder)?;
    let name = patch
        .removed
        .replace(|one: char| !one.is_alphanumeric(), "-");
    fs::write(folder.join(name).with_extension("txt"), output)?;
    Ok(())
}

/// Copies every file that git tracks or would track, so uncommitted changes are tested too.
fn copy_tree(root: &Path, copy: &Path) -> anyhow::Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    let listed = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard"])
        .current_dir(root)
        .output()?;
    ensure!(listed.status.success(), "git ls-files failed");
    for file in String::from_utf8(listed.stdout)?.lines() {
        let (from, to) = (root.join(file), copy.join(file));
        if from.is_file() {
            fs::create_dir_all(to.parent().context("the file has no folder")?)?;
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

fn with_patch<T>(
    copy: &Path,
    patch: &Patch,
    run: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let file = copy.join(patch.file);
    let original = fs::read_to_string(&file)?;
    fs::write(&file, patched(&original, patch)?)?;
    let result = run();
    fs::write(&file, original)?;
    result
}

fn patched(original: &str, patch: &Patch) -> anyhow::Result<String> {
    let mut text = original.to_owned();
    for (old, new) in patch.changes {
        let count = original.matches(old).count();
        ensure!(
            count == 1,
            "{} has the text {count} times, not once: {old}",
            patch.file
        );
        text = text.replace(old, new);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PATCH: Patch = Patch {
        removed: "the check",
        file: "x.rs",
        changes: &[("if bad { refuse() }", ""), ("= 3", "= 4")],
    };

    #[test]
    fn a_text_is_replaced_where_it_occurs_once() {
        assert_eq!(
            patched("a = 3; if bad { refuse() } b", &PATCH).unwrap(),
            "a = 4;  b"
        );
        assert!(patched("a = 3; b", &PATCH).is_err());
        assert!(patched("= 3; if bad { refuse() } if bad { refuse() }", &PATCH).is_err());
    }

    #[test]
    fn filters_choose_by_name() {
        let chosen = |filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
            matches_any(&PATCH, &filters)
        };
        assert!(chosen(&[]));
        assert!(chosen(&["nothing", "check"]));
        assert!(!chosen(&["nothing"]));
    }

    #[test]
    fn every_patch_applies_and_has_a_unique_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut names = BTreeSet::new();
        for patch in patches::all() {
            let original = fs::read_to_string(root.join(patch.file)).unwrap();
            let changed = patched(&original, patch)
                .unwrap_or_else(|error| panic!("{}: {error}", patch.removed));
            assert_ne!(changed, original, "{}", patch.removed);
            assert!(names.insert(patch.removed), "twice: {}", patch.removed);
        }
    }
}
