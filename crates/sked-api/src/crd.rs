//! The CustomResourceDefinitions: the schema derived from the types, and what types cannot express.
//!
//! ```text
//! types ─derive▶ schema ─kubernetes_types▶ short descriptions of Kubernetes' own types
//!                       ─limit▶            limits and defaults
//!                       ─merge▶            list types for server-side apply
//!                       ─rule▶             validation rules with their messages
//! ```
//!
//! Each step is a table. An entry for a field that does not exist is an error, so that a renamed
//! field cannot lose its rules. `xtask manifests` and tests call this; the manager never writes a
//! CustomResourceDefinition.

/// A path below the required terms of the node affinity.
macro_rules! required {
    ($rest:literal) => {
        concat!(
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.",
            "nodeSelectorTerms",
            $rest
        )
    };
}

/// A path below the preferred terms of the node affinity.
macro_rules! preferred {
    ($rest:literal) => {
        concat!(
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
            $rest
        )
    };
}

pub mod field_path;
mod kubernetes_types;
mod limit;
mod merge;
pub mod rule;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::CustomResourceExt;

use crate::node::SchedExtNode;
use crate::schedext::SchedExt;
use field_path::walk;
use rule::{RULES, Rule};

pub use field_path::CrdError;

/// The definition of `SchedExt`, with every rule.
pub fn schedext() -> Result<CustomResourceDefinition, CrdError> {
    with_rules(|_, _| true)
}

/// The same with only those rules that `keep` accepts at a path, for tests of single rules.
pub fn with_rules(
    keep: impl Fn(&Rule, &str) -> bool,
) -> Result<CustomResourceDefinition, CrdError> {
    let mut crd = SchedExt::crd();
    let schema = schema(&mut crd).ok_or(CrdError::NoSchema)?;
    kubernetes_types::apply(schema)?;
    limit::apply(schema, limit::SCHEDEXT)?;
    merge::apply(schema)?;
    for rule in RULES {
        rule.apply(schema, &keep)?;
    }
    tidy(schema);
    for path in rule::KEEPS_NULL {
        field_path::field(schema, "values that may be null", path)?.nullable = Some(true);
    }
    Ok(crd)
}

/// The definition of `SchedExtNode`. Its spec is empty and optional.
pub fn schedextnode() -> Result<CustomResourceDefinition, CrdError> {
    let mut crd = SchedExtNode::crd();
    let schema = schema(&mut crd).ok_or(CrdError::NoSchema)?;
    limit::apply(schema, limit::NODE)?;
    schema.required = None;
    tidy(schema);
    Ok(crd)
}

pub fn all() -> Result<[CustomResourceDefinition; 2], CrdError> {
    Ok([schedext()?, schedextnode()?])
}

fn tidy(schema: &mut JSONSchemaProps) {
    walk(schema, &mut |field| {
        // Null would be a second way to omit a field.
        field.nullable = None;
        // Doc comments are wrapped, descriptions are not.
        if let Some(text) = &mut field.description {
            *text = text.replace('\n', " ");
        }
    });
}

/// There is one version.
fn schema(crd: &mut CustomResourceDefinition) -> Option<&mut JSONSchemaProps> {
    let version = crd.spec.versions.first_mut()?;
    version.schema.as_mut()?.open_api_v3_schema.as_mut()
}

#[cfg(test)]
mod tests;
