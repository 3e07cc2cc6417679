//! Rules for single files: a Rust file begins with `//!`, has a name that says what is inside and no
//! `#[path]` attribute; a crate takes the workspace's lints.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// File names that say nothing about what is inside.
const VAGUE_NAMES: &[&str] = &[
    "mod",
    "utils",
    "util",
    "common",
    "helpers",
    "types",
    "misc",
    "constants",
];

/// Folders that hold build output or other people's files.
const SKIPPED: &[&str] = &["target", ".git", ".lab", "node_modules"];

/// Folders where a module must be at the path that its name implies.
const WITHOUT_PATH_ATTRIBUTES: &[&str] = &["crates", "lab", "e2e"];

pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in files(root)? {
        let text = || fs::read_to_string(&file).with_context(|| file.display().to_string());
        if file.extension().is_some_and(|extension| extension == "rs") {
            let name = file.strip_prefix(root).unwrap_or(&file);
            problems.extend(check_source(name, &text()?));
        }
        if file.file_name().is_some_and(|name| name == "Cargo.toml") {
            problems.extend(check_manifest(&file, &text()?));
        }
    }
    Ok(problems)
}

fn check_source(file: &Path, text: &str) -> Vec<String> {
    let name = file.display();
    let mut problems = Vec::new();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    if VAGUE_NAMES.contains(&stem.as_ref()) {
        problems.push(format!("{name}: name the file after what it contains"));
    }
    if !text.starts_with("//!") {
        problems.push(format!(
            "{name}: begin the file with a `//!` comment that says what it contains"
        ));
    }
    let is_below = |folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
    let has_attribute = text
        .lines()
        .any(|line| line.trim_start().starts_with("#[path"));
    if has_attribute && is_below(WITHOUT_PATH_ATTRIBUTES) {
        problems.push(format!(
            "{name}: put the module where its name implies, without #[path]"
        ));
    }
    problems
}

fn check_manifest(file: &Path, text: &str) -> Option<String> {
    let takes_lints = text.contains("[lints]\nworkspace = true");
    (text.contains("[package]") && !takes_lints)
        .then(|| format!("{}: add `[lints]` with `workspace = true`", file.display()))
}

/// All files below a folder, sorted, except those in [`SKIPPED`] folders.
pub(crate) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type()?.is_dir() {
            found.push(path);
        } else if !SKIPPED.contains(&entry.file_name().to_string_lossy().as_ref()) {
            found.extend(files(&path)?);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_header_a_vague_name_and_a_crate_without_lints_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("good.rs", "//! Says what it contains.\n"),
            ("bare.rs", "fn f() {}\n"),
            ("utils.rs", "//! Anything.\n"),
            ("Cargo.toml", "[package]\nname = \"lax\"\n"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let problems = check(folder.path()).unwrap();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("Cargo.toml"));
        assert!(problems[1].contains("bare.rs"));
        assert!(problems[2].contains("utils.rs"));
    }

    #[test]
    fn path_attributes_are_reported_in_our_crates() {
        let text = "//! A header.\n    #[path = \"other.rs\"]\nmod other;\n";
        for (file, count) in [
            ("crates/schedkit-core/src/lib.rs", 1),
            ("e2e/tests/node.rs", 1),
            ("fuzz/targets/digest.rs", 0),
        ] {
            assert_eq!(check_source(Path::new(file), text).len(), count, "{file}");
        }
        let in_comment = "//! Says `#[path`.\n// #[path = \"x.rs\"]\n";
        assert!(check_source(Path::new("crates/a/src/lib.rs"), in_comment).is_empty());
    }
}
