//! A normalized view of a DaemonSet: only the fields that sked controls, sorted, without defaults.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest, Sha256};
use sked_api::label;

use super::{defaults, quantity};

/// Whether kubectl wrote this annotation of a template, as `kubectl rollout restart` does.
pub(crate) fn is_kubectls(annotation: &str) -> bool {
    annotation.starts_with("kubectl.kubernetes.io/")
}

/// A normalized value. It borrows from the object that it was made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Canonical<'a> {
    /// Sorted by key.
    Map(Vec<(&'a str, Canonical<'a>)>),
    List(Vec<Canonical<'a>>),
    Text(Cow<'a, str>),
    /// A number or a boolean.
    Plain(&'a Value),
}

/// The position of a value: its key, and the key of the map that contains it. The elements of a
/// list have the list's key.
#[derive(Clone, Copy)]
struct Position<'a> {
    parent: &'a str,
    key: &'a str,
}

/// Maps with user-defined keys: every entry counts, also an empty string.
const VERBATIM: &[&str] = &["labels", "annotations", "nodeSelector", "matchLabels"];

/// Maps for which empty and absent are the same. For others they are not: an empty
/// `namespaceSelector` means every namespace, an absent one the pod's own.
const NOTHING_WHEN_EMPTY: &[&str] = &[
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "limits",
    "requests",
    "overhead",
    "resources",
    "securityContext",
    "metadata",
    "updateStrategy",
    "rollingUpdate",
];

impl<'a> Canonical<'a> {
    /// Of a whole DaemonSet.
    pub(super) fn of(daemonset: &'a Value) -> Self {
        let mut all = Vec::new();
        let metadata = &daemonset["metadata"];
        let owners = metadata["ownerReferences"].as_array();
        let mut owners = owners.into_iter().flatten();
        let controller = owners.find(|owner| owner["controller"] == true);
        let at = |key| Position { parent: "", key };
        all.extend(controller.and_then(|one| Some(("controller", value(one, at("controller"))?))));
        let (made, _) = label::MANAGED_BY;
        if let Some(value) = metadata["labels"].get(made) {
            all.push(("label", Self::Plain(value)));
        }
        all.extend(value(&daemonset["spec"], at("spec")).map(|spec| ("spec", spec)));
        Self::Map(all)
    }

    /// Each value is prefixed with its kind and length, so that different values hash differently.
    pub(super) fn feed(&self, hash: &mut Sha256) {
        match self {
            Self::Map(map) => {
                frame(hash, b'm', map.len());
                for (key, value) in map {
                    frame(hash, b'k', key.len());
                    hash.update(key.as_bytes());
                    value.feed(hash);
                }
            }
            Self::List(list) => {
                frame(hash, b'l', list.len());
                list.iter().for_each(|value| value.feed(hash));
            }
            Self::Text(text) => {
                frame(hash, b't', text.len());
                hash.update(text.as_bytes());
            }
            Self::Plain(value) => {
                let text = value.to_string();
                frame(hash, b'p', text.len());
                hash.update(text.as_bytes());
            }
        }
    }
}

fn frame(hash: &mut Sha256, kind: u8, length: usize) {
    hash.update([kind]);
    hash.update((length as u64).to_le_bytes());
}

/// `None` for a default or an empty value.
fn value<'a>(value: &'a Value, at: Position<'a>) -> Option<Canonical<'a>> {
    if defaults::is_default(at.parent, at.key, value) {
        return None;
    }
    match value {
        Value::Null => None,
        Value::Object(map) => {
            let inner = map
                .iter()
                .filter_map(|(key, inner)| entry(key, inner, map, at));
            let mut inner: Vec<_> = inner.collect();
            inner.sort_unstable_by_key(|(key, _)| *key);
            let nothing = inner.is_empty() && NOTHING_WHEN_EMPTY.contains(&at.key);
            (!nothing).then_some(Canonical::Map(inner))
        }
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) => Some(Canonical::List(
            list.iter().map(|inner| element(inner, at)).collect(),
        )),
        Value::String(text) if text.is_empty() => None,
        Value::String(text) if matches!(at.parent, "limits" | "requests") => {
            Some(Canonical::Text(quantity::normal(text)))
        }
        Value::String(text) => Some(Canonical::Text(Cow::Borrowed(text))),
        Value::Bool(_) | Value::Number(_) => Some(Canonical::Plain(value)),
    }
}

fn entry<'a>(
    key: &'a str,
    inner: &'a Value,
    map: &serde_json::Map<String, Value>,
    at: Position<'a>,
) -> Option<(&'a str, Canonical<'a>)> {
    if at.key == "annotations" && is_kubectls(key) {
        return None;
    }
    if VERBATIM.contains(&at.key) {
        return Some((key, Canonical::Plain(inner)));
    }
    if key == "imagePullPolicy" && defaults::is_pull_policy_of(map.get("image"), inner) {
        return None;
    }
    let position = Position {
        parent: at.key,
        key,
    };
    Some((key, value(inner, position)?))
}

/// An element keeps its index in the list, also when it is empty.
fn element<'a>(inner: &'a Value, at: Position<'a>) -> Canonical<'a> {
    match inner {
        Value::String(text) => Canonical::Text(Cow::Borrowed(text)),
        other => value(other, at).unwrap_or(Canonical::Map(Vec::new())),
    }
}
