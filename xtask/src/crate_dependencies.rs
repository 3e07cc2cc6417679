//! Crates that a crate of ours must not depend on, directly or indirectly (see ARCHITECTURE.md).
//!
//! Each crate is checked with the dependencies that it has when it is built alone, so that a feature
//! that another crate turns on does not count. Dev-dependencies are not checked.

use std::process::Command;

use anyhow::ensure;

/// A crate of ours and the crates that it must not depend on.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("schedkit-core", &["tokio", "kube", "kube-client", "rustix"]),
    ("schedkit-host", &["kube", "kube-client"]),
    ("schedkit-image", &["kube", "kube-client", "schedkit-host"]),
    ("schedkit-runtime", &["kube", "kube-client"]),
    ("sked-api", &["kube-client", "tokio"]),
    ("sked-plan", &["kube-client", "tokio"]),
    ("sked", &["lab", "libbpf-rs", "libbpf-sys"]),
    (
        "kubectl-sx",
        &["lab", "libbpf-rs", "libbpf-sys", "schedctl"],
    ),
    ("schedctl", &["lab", "libbpf-rs", "libbpf-sys"]),
];

pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    let ours = cargo(&["tree", "--workspace", "--depth", "0", "--prefix", "none"])?;
    let mut problems = Vec::new();
    for (from, forbidden) in FORBIDDEN {
        if names(&ours).any(|name| name == *from) {
            let tree = cargo(&[
                "tree",
                "--package",
                from,
                "--edges",
                "normal,build",
                "--prefix",
                "none",
            ])?;
            problems.extend(check_crate(from, forbidden, &tree));
        }
    }
    Ok(problems)
}

fn check_crate(from: &str, forbidden: &[&str], tree: &str) -> Vec<String> {
    let is_in_tree = |other: &&&str| names(tree).any(|name| name == **other);
    let describe =
        |other: &&str| format!("{from} must not depend on {other} (see ARCHITECTURE.md)");
    forbidden.iter().filter(is_in_tree).map(describe).collect()
}

/// Each line of `cargo tree` begins with a crate's name.
fn names(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
}

fn cargo(args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("cargo").args(args).arg("--locked").output()?;
    ensure!(
        output.status.success(),
        "cargo {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_compared_by_whole_names() {
        let tree =
            "sked-plan v0.1.0 (/somewhere)\nkube-core v5.0.0\ntokio v1.0.0\ntokio v1.0.0 (*)\n";
        let problems = check_crate("sked-plan", &["kube", "tokio"], tree);
        assert_eq!(
            problems,
            ["sked-plan must not depend on tokio (see ARCHITECTURE.md)"]
        );
    }
}
