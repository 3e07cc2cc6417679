//! How the tree itself must look: every Rust file says what room it is, no room is a lumber
//! room, every crate takes the workspace's lints.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Names that say nothing about what is inside.
const LUMBER_ROOMS: &[&str] = &[
    "mod",
    "utils",
    "util",
    "common",
    "helpers",
    "types",
    "misc",
    "constants",
];

/// Folders that are not ours to judge.
const SKIPPED: &[&str] = &["target", ".git", ".lab", "node_modules"];

/// Complaints about the tree below `root`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for file in files(root)? {
        let text = || fs::read_to_string(&file).with_context(|| file.display().to_string());
        if file.extension().is_some_and(|extension| extension == "rs") {
            complaints.extend(judge_source(&file, &text()?));
        }
        if file.file_name().is_some_and(|name| name == "Cargo.toml") {
            complaints.extend(judge_manifest(&file, &text()?));
        }
    }
    Ok(complaints)
}

fn judge_source(file: &Path, text: &str) -> Option<String> {
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    if LUMBER_ROOMS.contains(&stem) {
        return Some(format!(
            "{}: a room is named by its job, not {stem:?}",
            file.display()
        ));
    }
    (!text.starts_with("//!")).then(|| {
        format!(
            "{}: begins without `//!` saying what room it is",
            file.display()
        )
    })
}

fn judge_manifest(file: &Path, text: &str) -> Option<String> {
    let takes_lints = text.contains("[lints]\nworkspace = true");
    (text.contains("[package]") && !takes_lints)
        .then(|| format!("{}: does not take the workspace's lints", file.display()))
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
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
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_file_a_lumber_room_and_a_lax_crate_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("good.rs", "//! Says what it is.\n"),
            ("silent.rs", "fn f() {}\n"),
            ("utils.rs", "//! Lumber.\n"),
            ("Cargo.toml", "[package]\nname = \"lax\"\n"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut complaints = check(folder.path()).unwrap();
        complaints.sort();
        assert_eq!(complaints.len(), 3, "{complaints:?}");
        assert!(complaints[0].contains("Cargo.toml"));
        assert!(complaints[1].contains("silent.rs"));
        assert!(complaints[2].contains("utils.rs"));
    }
}
