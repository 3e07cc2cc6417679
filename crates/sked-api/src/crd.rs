//! The CustomResourceDefinition as the API server gets it: the schema of the types, and what the
//! types cannot say.
//!
//! ```text
//! types ─derive▶ schema ─foreign▶ our words for Kubernetes' own types
//!                       ─limit▶   how large everything may be, defaults
//!                       ─merge▶   what server-side apply takes for one thing
//!                       ─rule▶    what is refused, and with which sentence
//! ```
//!
//! Each step is a table. A line of a table that names a field which is not there is an error, so
//! that a renamed field cannot lose its rules. Called by `xtask manifests` and by tests; the
//! manager itself never writes a CustomResourceDefinition.

/// A path below the terms that a node must fulfil.
macro_rules! required {
    ($rest:literal) => {
        concat!(
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.",
            "nodeSelectorTerms",
            $rest
        )
    };
}

/// A path below the terms that a node should fulfil.
macro_rules! preferred {
    ($rest:literal) => {
        concat!(
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
            $rest
        )
    };
}

mod foreign;
mod limit;
mod merge;
pub mod place;
pub mod rule;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::CustomResourceExt;

use crate::node::SchedExtNode;
use crate::schedext::SchedExt;
use rule::{RULES, Rule};

/// Why there is no definition: a table and the types disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    /// A table speaks of a field that the schema does not have.
    #[error("the table of {table} names {path:?}, which the schema does not have")]
    NoSuchField {
        /// Which table.
        table: &'static str,
        /// What it names.
        path: String,
    },
    /// The types have no schema.
    #[error("the derived definition has no schema")]
    NoSchema,
}

/// The definition of `SchedExt`, with every rule.
pub fn schedext() -> Result<CustomResourceDefinition, CrdError> {
    with_rules(|_, _| true)
}

/// The same with only those rules that `keep` wants at that path: how a test learns what a rule
/// does.
pub fn with_rules(
    keep: impl Fn(&Rule, &str) -> bool,
) -> Result<CustomResourceDefinition, CrdError> {
    let mut crd = SchedExt::crd();
    let schema = schema(&mut crd).ok_or(CrdError::NoSchema)?;
    foreign::apply(schema)?;
    limit::apply(schema, limit::SCHEDEXT)?;
    merge::apply(schema)?;
    for rule in RULES {
        rule.apply(schema, &keep)?;
    }
    tidy(schema);
    Ok(crd)
}

/// The definition of `SchedExtNode`. Nothing is asked of a node, so it need not say that.
pub fn schedextnode() -> Result<CustomResourceDefinition, CrdError> {
    let mut crd = SchedExtNode::crd();
    let schema = schema(&mut crd).ok_or(CrdError::NoSchema)?;
    limit::apply(schema, limit::NODE)?;
    schema.required = None;
    tidy(schema);
    Ok(crd)
}

/// Both, as a cluster needs them.
pub fn all() -> Result<[CustomResourceDefinition; 2], CrdError> {
    Ok([schedext()?, schedextnode()?])
}

fn tidy(schema: &mut JSONSchemaProps) {
    place::walk(schema, &mut |field| {
        // Absent and null would be two ways to say one thing.
        field.nullable = None;
        // A line's end in a comment of ours is no line's end in a sentence.
        if let Some(words) = &mut field.description {
            *words = words.replace('\n', " ");
        }
    });
}

/// The schema within a definition; there is one version.
fn schema(crd: &mut CustomResourceDefinition) -> Option<&mut JSONSchemaProps> {
    let version = crd.spec.versions.first_mut()?;
    version.schema.as_mut()?.open_api_v3_schema.as_mut()
}

/// The field that a line of a table speaks of.
fn field<'a>(
    schema: &'a mut JSONSchemaProps,
    table: &'static str,
    path: &str,
) -> Result<&'a mut JSONSchemaProps, CrdError> {
    place::find(schema, path).ok_or_else(|| CrdError::NoSuchField {
        table,
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests;
