//! The part of `Cargo.lock` that one package depends on, so that other changes do not invalidate its
//! cached build.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    checksum: &'a str,
    dependencies: Vec<&'a str>,
}

/// Names, versions and checksums of `root` and its dependencies, sorted.
pub fn closure(lock: &str, root: &str) -> String {
    let mut packages: BTreeMap<&str, Vec<Package<'_>>> = BTreeMap::new();
    for package in parse(lock) {
        packages.entry(package.name).or_default().push(package);
    }
    let mut reached = BTreeSet::new();
    let mut next = vec![root];
    while let Some(wanted) = next.pop() {
        // A dependency is `name`, or `name version` where the lock has several versions of it.
        let (name, version) = wanted.split_once(' ').unwrap_or((wanted, ""));
        for package in packages.get(name).into_iter().flatten() {
            let meant = version.is_empty() || package.version == version;
            if meant && reached.insert((package.name, package.version, package.checksum)) {
                next.extend(&package.dependencies);
            }
        }
    }
    reached
        .iter()
        .map(|(name, version, checksum)| format!("{name} {version} {checksum}\n"))
        .collect()
}

/// cargo writes one value per line.
fn parse(lock: &str) -> Vec<Package<'_>> {
    let mut packages: Vec<Package<'_>> = Vec::new();
    for line in lock.lines() {
        if line == "[[package]]" {
            packages.push(Package::default());
        } else if let Some(package) = packages.last_mut() {
            match line.split_once(" = ") {
                Some(("name", value)) => package.name = value.trim_matches('"'),
                Some(("version", value)) => package.version = value.trim_matches('"'),
                Some(("checksum", value)) => package.checksum = value.trim_matches('"'),
                None if line.starts_with(" \"") => {
                    package
                        .dependencies
                        .push(line.trim().trim_end_matches(',').trim_matches('"'));
                }
                _ => {}
            }
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "ours"
version = "0.1.0"
dependencies = [
 "leaf 1.0.0",
 "twig",
]

[[package]]
name = "leaf"
version = "1.0.0"
checksum = "aa"

[[package]]
name = "leaf"
version = "2.0.0"
checksum = "bb"

[[package]]
name = "twig"
version = "3.0.0"
checksum = "cc"

[[package]]
name = "other"
version = "9.0.0"
dependencies = [
 "leaf 2.0.0",
]
"#;

    #[test]
    fn only_what_is_reached_counts() {
        assert_eq!(
            closure(LOCK, "ours"),
            "leaf 1.0.0 aa\nours 0.1.0 \ntwig 3.0.0 cc\n"
        );
        assert_eq!(closure(LOCK, "absent"), "");
    }

    #[test]
    fn the_lock_of_this_workspace_is_parsed() {
        let lock = include_str!("../../Cargo.lock");
        assert!(
            closure(lock, "scx_lab").contains("\nlibbpf-sys "),
            "{}",
            closure(lock, "scx_lab")
        );
        assert!(!closure(lock, "scx_lab").contains("\nureq "));
    }
}
