//! What is asked about an image, and with whose credentials. What was read with those of one namespace
//! is another question than what was read with those of another, or with the manager's alone: an answer
//! serves nobody who could not have read the image.

use std::sync::Arc;

use sked_api::SchedExt;

/// The secrets of a SchedExt by name, in its order. Another list is another question, so that a spec
/// with a secret that works does not wait for the next attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PullSecrets {
    pub(super) namespace: String,
    pub(super) names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Question {
    pub(super) reference: String,
    /// `None`: the manager's own credentials alone.
    pub(super) secrets: Option<Arc<PullSecrets>>,
}

impl PullSecrets {
    /// Those that the SchedExt names, if it names any.
    pub(super) fn of(asked: &SchedExt) -> Option<Self> {
        let names = asked.spec.image_pull_secrets.iter();
        let names: Vec<String> = names.map(|one| one.name.clone()).collect();
        let namespace = asked.metadata.namespace.clone().unwrap_or_default();
        (!names.is_empty()).then_some(Self { namespace, names })
    }
}

impl Question {
    pub(super) fn new(reference: &str, secrets: Option<Arc<PullSecrets>>) -> Self {
        let reference = reference.to_owned();
        Self { reference, secrets }
    }

    /// The same about another image.
    pub(super) fn about(&self, reference: &str) -> Self {
        Self::new(reference, self.secrets.clone())
    }
}
