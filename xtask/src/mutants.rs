//! Removes one check of the verifier at a time and sees that a test goes red.
//!
//! A check that nothing misses when it is gone is either not tested or not needed. The work is
//! done in a copy of the tree, so an interrupted run leaves nothing behind but that copy.

mod list;
mod suite;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};

use suite::{Fate, SUITES, Suite};

/// One check, and the tree without it.
pub(crate) struct Mutant {
    /// What is no longer checked.
    pub(crate) without: &'static str,
    /// The file below the root.
    pub(crate) file: &'static str,
    /// Texts that stand exactly once in that file, and what stands there instead. More than one
    /// where a check is held twice.
    pub(crate) changes: &'static [(&'static str, &'static str)],
}

/// Complaints: one for each check that nobody misses. With words, only the mutants that have one
/// of them in their name are tried.
pub(crate) fn run(root: &Path, words: &[String]) -> anyhow::Result<Vec<String>> {
    let copy = root.canonicalize()?.join("target/mutants/tree");
    mirror(root, &copy)?;
    let mut left: Vec<&Mutant> = list::all().filter(|one| is_meant(one, words)).collect();
    ensure!(!left.is_empty(), "no mutant has one of these words");
    for suite in SUITES {
        if !left.is_empty() {
            left = unnoticed_by(suite, &copy, &left)?;
        }
    }
    let complaint = |mutant: &Mutant| format!("nobody misses the check: {}", mutant.without);
    Ok(left.into_iter().map(complaint).collect())
}

fn is_meant(mutant: &Mutant, words: &[String]) -> bool {
    words.is_empty() || words.iter().any(|word| mutant.without.contains(word))
}

/// The mutants that a suite lets pass. It must be green without any: only then does red say
/// something.
fn unnoticed_by<'a>(
    suite: &Suite,
    copy: &Path,
    mutants: &[&'a Mutant],
) -> anyhow::Result<Vec<&'a Mutant>> {
    let mut out = std::io::stdout();
    let begun = Instant::now();
    suite.prepare(copy)?;
    let whole = suite.fate(copy)?;
    ensure!(whole == Fate::Unnoticed, "red without a mutant: {whole}");
    let took = begun.elapsed().as_secs();
    writeln!(out, "{}: green without a mutant ({took} s)", suite.name)?;
    let mut unnoticed = Vec::new();
    for (position, mutant) in mutants.iter().enumerate() {
        let begun = Instant::now();
        let fate = with_mutant(copy, mutant, || suite.fate(copy))
            .with_context(|| format!("without {}", mutant.without))?;
        let (number, count) = (position + 1, mutants.len());
        let took = begun.elapsed().as_secs();
        writeln!(
            out,
            "[{number:2}/{count}] {took:3} s  {}: {fate}",
            mutant.without
        )?;
        match fate {
            Fate::Unnoticed => unnoticed.push(*mutant),
            Fate::Missed { said, .. } => keep(copy, mutant, &said)?,
            Fate::Broken { said } => {
                keep(copy, mutant, &said)?;
                unnoticed.push(*mutant);
            }
        }
    }
    Ok(unnoticed)
}

/// Red is not all alike: whoever wants to know whether a bad signature was accepted or only refused
/// for another reason finds here what the tests said.
fn keep(copy: &Path, mutant: &Mutant, said: &str) -> anyhow::Result<()> {
    let folder = copy.with_file_name("said");
    fs::create_dir_all(&folder)?;
    let name = mutant
        .without
        .replace(|one: char| !one.is_alphanumeric(), "-");
    fs::write(folder.join(name).with_extension("txt"), said)?;
    Ok(())
}

/// Every file that git knows or would know, so that the change under work is what is judged.
fn mirror(root: &Path, copy: &Path) -> anyhow::Result<()> {
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
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

fn with_mutant<T>(
    copy: &Path,
    mutant: &Mutant,
    judge: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let file = copy.join(mutant.file);
    let whole = fs::read_to_string(&file)?;
    fs::write(&file, without(&whole, mutant)?)?;
    let judged = judge();
    fs::write(&file, whole)?;
    judged
}

fn without(whole: &str, mutant: &Mutant) -> anyhow::Result<String> {
    let mut text = whole.to_owned();
    for (old, new) in mutant.changes {
        let places = whole.matches(old).count();
        ensure!(
            places == 1,
            "{} has the text {places} times, not once: {old}",
            mutant.file
        );
        text = text.replace(old, new);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MUTANT: Mutant = Mutant {
        without: "the check",
        file: "x.rs",
        changes: &[("if bad { refuse() }", ""), ("= 3", "= 4")],
    };

    #[test]
    fn a_check_is_removed_where_it_stands_once() {
        assert_eq!(
            without("a = 3; if bad { refuse() } b", &MUTANT).unwrap(),
            "a = 4;  b"
        );
        assert!(without("a = 3; b", &MUTANT).is_err());
        assert!(without("= 3; if bad { refuse() } if bad { refuse() }", &MUTANT).is_err());
    }

    #[test]
    fn words_choose_by_name() {
        let meant = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            is_meant(&MUTANT, &words)
        };
        assert!(meant(&[]));
        assert!(meant(&["nothing", "check"]));
        assert!(!meant(&["nothing"]));
    }

    #[test]
    fn every_mutant_has_its_place_and_its_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut names = BTreeSet::new();
        for mutant in list::all() {
            let whole = fs::read_to_string(root.join(mutant.file)).unwrap();
            let changed = without(&whole, mutant).unwrap();
            assert_ne!(changed, whole, "{}", mutant.without);
            assert!(names.insert(mutant.without), "twice: {}", mutant.without);
        }
    }
}
