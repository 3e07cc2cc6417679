//! Import cycles between the files of a crate: file A imports from B, and B, directly or through
//! others, from A.
//!
//! The check reads text, not syntax. It follows `mod name;` from each crate root and takes `use`
//! declarations that start in the first column, as rustfmt writes them at the top level of a file:
//! `crate::…`, `super::…`, `self::…` and those that start with a child module. It sees neither
//! paths inside of expressions nor what a macro or an inline `mod name { … }` imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source_files;

/// Cargo makes a crate of each file that is directly in one of these folders.
const ROOT_FOLDERS: &[&str] = &["tests", "benches", "examples"];

/// A module's path below `crate`.
type ModulePath = Vec<String>;
/// The modules that each module imports from.
type Imports = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in source_files::files(root)? {
        if !is_crate_root(&file) {
            continue;
        }
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        let cycles = cycles(&imports(&load(&file)));
        problems.extend(cycles.iter().map(|cycle| {
            let modules: Vec<String> = cycle.iter().map(display).collect();
            let modules = modules.join(", ");
            format!("{name}: these modules import each other: {modules}")
        }));
    }
    Ok(problems)
}

fn is_crate_root(file: &Path) -> bool {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    let is_named_root = ["lib.rs", "main.rs"]
        .iter()
        .any(|name| file.ends_with(name));
    is_named_root || (is_rust && ROOT_FOLDERS.iter().any(|name| folder == *name))
}

/// The text of every module of a crate. A module whose file is elsewhere (`#[path]`) is left out.
fn load(root: &Path) -> BTreeMap<ModulePath, String> {
    let mut modules = BTreeMap::new();
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    let mut waiting: Vec<(ModulePath, PathBuf, PathBuf)> = vec![(vec![], root.to_owned(), folder)];
    while let Some((path, file, folder)) = waiting.pop() {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        for child in children(&text) {
            let path = [path.as_slice(), &[child.to_owned()]].concat();
            waiting.push((path, folder.join(format!("{child}.rs")), folder.join(child)));
        }
        modules.insert(path, text);
    }
    modules
}

/// The names of `mod name;` declarations.
fn children(text: &str) -> Vec<&str> {
    let declared = |line| {
        without_visibility(line)
            .strip_prefix("mod ")?
            .strip_suffix(';')
    };
    text.lines().filter_map(declared).collect()
}

fn imports(modules: &BTreeMap<ModulePath, String>) -> Imports {
    let of_one = |(path, text): (&ModulePath, &String)| {
        let children = children(text);
        let used = use_paths(text).into_iter();
        let found = used.filter_map(|used| resolve(modules, path, &children, &used));
        (path.clone(), found.filter(|found| found != path).collect())
    };
    modules.iter().map(of_one).collect()
}

/// The file that a `use` path leads to; none for a path into another crate.
fn resolve(
    modules: &BTreeMap<ModulePath, String>,
    from: &ModulePath,
    children: &[&str],
    used: &str,
) -> Option<ModulePath> {
    let mut segments = used.split("::").peekable();
    let mut found = match *segments.peek()? {
        "crate" => vec![],
        "self" | "super" => from.clone(),
        name if children.contains(&name) => from.clone(),
        _ => return None,
    };
    for segment in segments {
        match segment {
            "crate" | "self" => {}
            "super" => {
                found.pop()?;
            }
            name => {
                found.push(name.to_owned());
                if !modules.contains_key(&found) {
                    found.pop();
                    break;
                }
            }
        }
    }
    Some(found)
}

/// Every path of the `use` declarations that start in the first column, braces expanded.
fn use_paths(text: &str) -> Vec<String> {
    let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let lines: Vec<String> = text.lines().map(without_comment).collect();
    let mut paths = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(begin) = without_visibility(line).strip_prefix("use ") {
            let whole = [&[begin.to_owned()], &lines[number + 1..]]
                .concat()
                .join(" ");
            paths.extend(expand(whole.split(';').next().unwrap_or_default()));
        }
    }
    paths
}

/// `a::{b, c::{d as e}}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.to_owned()];
    };
    let mut depth = 0;
    let parts = rest.strip_suffix('}').unwrap_or(rest).split(|character| {
        depth += i32::from(character == '{') - i32::from(character == '}');
        character == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    let parts = parts.flat_map(expand);
    parts.map(|part| format!("{prefix}{part}")).collect()
}

fn without_visibility(line: &str) -> &str {
    match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(line, |(_, item)| item),
        Some(rest) => rest.trim_start(),
        None => line,
    }
}

/// Groups of modules each of which imports, directly or not, from every other one.
fn cycles(imports: &Imports) -> Vec<BTreeSet<ModulePath>> {
    let reached: Imports = imports
        .keys()
        .map(|path| (path.clone(), reach(imports, path)))
        .collect();
    let group = |path: &ModulePath| {
        let back = |other: &&ModulePath| reached[*other].contains(path);
        reached[path]
            .iter()
            .filter(back)
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let groups: BTreeSet<_> = imports.keys().map(group).collect();
    groups.into_iter().filter(|group| group.len() > 1).collect()
}

fn reach(imports: &Imports, from: &ModulePath) -> BTreeSet<ModulePath> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(path) = waiting.pop() {
        for next in &imports[path] {
            if reached.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    reached
}

fn display(path: &ModulePath) -> String {
    match path.as_slice() {
        [] => "crate".to_owned(),
        names => names.join("::"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        check(folder.path()).unwrap()
    }

    #[test]
    fn modules_that_import_each_other_are_reported() {
        let problems = found(&[
            ("src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("src/a.rs", "mod inner;\nuse crate::b::B;\n"),
            ("src/a/inner.rs", "use super::A;\n"),
            ("src/b.rs", "use crate::{\n    c::{self, C},\n};\n"),
            ("src/c.rs", "pub(crate) use super::a::A;\n"),
        ]);
        assert_eq!(
            problems,
            ["src/lib.rs: these modules import each other: a, b, c"]
        );
    }

    #[test]
    fn a_parent_and_its_child_can_make_a_cycle() {
        let child = ("tests/a/b.rs", "use super::A;\n");
        let problems = found(&[
            ("tests/main.rs", "mod a;\n"),
            ("tests/a.rs", "mod b;\npub use b::B;\n"),
            child,
        ]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let problems = found(&[
            ("tests/main.rs", "mod a;\n"),
            ("tests/a.rs", "mod b;\n"),
            child,
        ]);
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn comments_inner_scopes_and_other_crates_import_nothing() {
        let problems = found(&[
            (
                "src/main.rs",
                "mod a;\nuse std::fmt;\n// use a::A;\nfn f() {\n    use a::A;\n}\n",
            ),
            ("src/a.rs", "use crate::main;\nuse anyhow::Context;\n"),
        ]);
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn nested_braces_are_expanded() {
        let expected = ["a::b", "a::c::d", "a::c::e", "a::f"];
        assert_eq!(expand("a::{b, c::{d as x, e,}, f}"), expected);
        assert_eq!(expand("a::{b::{c,d}}"), ["a::b::c", "a::b::d"]);
    }
}
