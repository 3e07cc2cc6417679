//! `lab cp`: copies a file or folder to or from a node.

use std::process::ExitCode;

use anyhow::bail;
use lab::{Lab, ssh};

pub(crate) fn run(lab: &Lab, from: &str, to: &str) -> anyhow::Result<ExitCode> {
    let (node, from, to) = match (remote(from), remote(to)) {
        (Some(node), None) => (node, from.to_owned(), absolute(to)?),
        (None, Some(node)) => (node, absolute(from)?, to.to_owned()),
        _ => bail!("exactly one of the two paths must be on a node, written NODE:PATH"),
    };
    let node = lab.reachable_node(node)?;
    let status = ssh::copy(lab.state(), node.name(), &from, &to).status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The node of `NODE:PATH`; a path with a slash before the colon is local.
fn remote(path: &str) -> Option<&str> {
    let (node, _) = path.split_once(':')?;
    (!node.is_empty() && !node.contains('/')).then_some(node)
}

/// scp runs in another folder.
fn absolute(path: &str) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => bail!("{} is not valid UTF-8", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_node_is_remote() {
        assert_eq!(remote("node1:/tmp/x"), Some("node1"));
        assert_eq!(remote("./a:b"), None);
        assert_eq!(remote("/tmp/x"), None);
        assert_eq!(remote(":x"), None);
    }
}
