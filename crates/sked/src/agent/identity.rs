//! The node that this agent reports for, read from the agent's own service account token. An
//! admission policy checks every report against the token; the agent may not read Nodes.
//!
//! [`crate::agent`] reads it at the start and before each write, because kubelet renews tokens. The
//! signature is not checked: the API server rejects a forged token.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// Tokens have about 2 KiB.
const MAX_SIZE: u64 = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Identity {
    /// Also the name of the report.
    pub(super) name: String,
    pub(super) uid: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    #[error(
        "cannot read the token {}: run in a pod with a service account, or name a file with --token-file",
        file.display()
    )]
    Unreadable {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{} contains no service account token: name another file with --token-file", .0.display())]
    NoToken(PathBuf),
    /// Not a pod's token, a token without a node, or one of an old API server.
    #[error(
        "the token in {} does not say which node it is for: it must be one that kubelet gives a pod, in Kubernetes 1.33 or later",
        .0.display()
    )]
    NoNode(PathBuf),
    #[error("the token in {} is now for the node {now}, and this agent reports for {before}: restart it", file.display())]
    Another {
        file: PathBuf,
        before: String,
        now: String,
    },
}

#[derive(Deserialize)]
struct Claims {
    #[serde(rename = "kubernetes.io", default)]
    kubernetes: Kubernetes,
}

#[derive(Default, Deserialize)]
struct Kubernetes {
    node: Option<Identity>,
}

pub(super) fn read(file: &Path) -> Result<Identity, IdentityError> {
    let text = text(file).map_err(|source| IdentityError::Unreadable {
        file: file.to_owned(),
        source,
    })?;
    let claims = claims(&text).ok_or_else(|| IdentityError::NoToken(file.to_owned()))?;
    let node = claims.kubernetes.node;
    let node = node.filter(|node| !node.name.is_empty() && !node.uid.is_empty());
    node.ok_or_else(|| IdentityError::NoNode(file.to_owned()))
}

/// Reads the token again: kubelet renews it, and the Node may have been recreated with another uid.
pub(super) fn again(file: &Path, before: &Identity) -> Result<Identity, IdentityError> {
    let now = read(file)?;
    if now.name == before.name {
        return Ok(now);
    }
    Err(IdentityError::Another {
        file: file.to_owned(),
        before: before.name.clone(),
        now: now.name,
    })
}

fn text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(file)?
        .take(MAX_SIZE)
        .read_to_string(&mut text)
        .map(|_| text)
}

/// The second of a token's three parts.
fn claims(token: &str) -> Option<Claims> {
    let payload = token.trim().split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(claims: &Value) -> Result<Identity, IdentityError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
        std::fs::write(&file, format!("e30.{payload}.c2ln\n")).unwrap();
        read(&file)
    }

    #[test]
    fn a_pods_token_names_its_node() {
        let node = of(&json!({"aud": ["x"], "kubernetes.io": {
            "namespace": "sked-system", "node": {"name": "node1", "uid": "1-2"},
            "pod": {"name": "a", "uid": "b"},
        }}));
        let (name, uid) = ("node1".to_owned(), "1-2".to_owned());
        assert_eq!(node.unwrap(), Identity { name, uid });
    }

    #[test]
    fn a_token_without_a_node_is_an_error() {
        for claims in [
            json!({}),
            json!({"kubernetes.io": {"namespace": "a"}}),
            json!({"kubernetes.io": {"node": {"name": "", "uid": "a"}}}),
        ] {
            let error = of(&claims).unwrap_err();
            assert!(
                error.to_string().contains("which node it is for"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_token_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(matches!(read(&file), Err(IdentityError::Unreadable { .. })));
        for text in ["", "a", "a.b.c", "..", "e30.e30=.x", &".".repeat(1 << 20)] {
            std::fs::write(&file, text).unwrap();
            assert!(
                matches!(read(&file), Err(IdentityError::NoToken(_))),
                "{text:.9}"
            );
        }
    }

    #[test]
    fn a_token_may_be_renewed_but_not_for_another_node() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let put = |name: &str, uid: &str| {
            let claims = json!({"kubernetes.io": {"node": {"name": name, "uid": uid}}});
            let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
            std::fs::write(&file, format!("e30.{payload}.c2ln")).unwrap();
        };
        put("node1", "1");
        let before = read(&file).unwrap();
        put("node1", "2");
        assert_eq!(again(&file, &before).unwrap().uid, "2");
        put("node2", "3");
        let error = again(&file, &before).unwrap_err();
        assert!(
            error.to_string().contains("now for the node node2"),
            "{error}"
        );
    }
}
