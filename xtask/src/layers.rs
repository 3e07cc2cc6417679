//! Which crate must never reach which: a crate exists to forbid an import.
//!
//! Judged by what each crate pulls in when it is built alone, however indirect, so that a feature
//! that another crate turns on does not blur the answer. Dependencies of tests are free.

use std::process::Command;

use anyhow::ensure;

/// A crate of ours and what it must not reach.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("schedkit-core", &["tokio", "kube", "kube-client", "rustix"]),
    ("schedkit-host", &["kube", "kube-client"]),
    ("schedkit-image", &["kube", "kube-client", "schedkit-host"]),
    ("schedkit-runtime", &["kube", "kube-client"]),
    ("sked-api", &["kube-client", "tokio"]),
    ("sked-plan", &["kube-client", "tokio"]),
    ("sked", &["lab", "libbpf-rs", "libbpf-sys"]),
    ("schedctl", &["lab", "libbpf-rs", "libbpf-sys"]),
];

/// Complaints about this workspace.
pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    let ours = cargo(&["tree", "--workspace", "--depth", "0", "--prefix", "none"])?;
    let mut complaints = Vec::new();
    for (from, never) in FORBIDDEN {
        if names(&ours).any(|name| name == *from) {
            let reached = cargo(&[
                "tree",
                "--package",
                from,
                "--edges",
                "normal,build",
                "--prefix",
                "none",
            ])?;
            complaints.extend(judge(from, never, &reached));
        }
    }
    Ok(complaints)
}

fn judge(from: &str, never: &[&str], reached: &str) -> Vec<String> {
    let reaches = |what: &&&str| names(reached).any(|name| name == **what);
    let complain = |what: &&str| format!("{from} must not reach {what} (see ARCHITECTURE.md)");
    never.iter().filter(reaches).map(complain).collect()
}

/// The first word of each line of `cargo tree` is a crate's name.
fn names(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
}

fn cargo(words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("cargo").args(words).arg("--locked").output()?;
    ensure!(
        output.status.success(),
        "cargo {}: {}",
        words.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crate_reaches_is_judged_by_whole_names() {
        let reached =
            "sked-plan v0.1.0 (/somewhere)\nkube-core v5.0.0\ntokio v1.0.0\ntokio v1.0.0 (*)\n";
        let complaints = judge("sked-plan", &["kube", "tokio"], reached);
        assert_eq!(
            complaints,
            ["sked-plan must not reach tokio (see ARCHITECTURE.md)"]
        );
    }
}
