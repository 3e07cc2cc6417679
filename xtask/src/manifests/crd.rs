//! `config/crd`: the CustomResourceDefinitions, and the kustomization that others take them by.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

use super::{Derived, yaml};

/// A definition, in a file named as kubebuilder names it: whoever knows sked looks for it there.
pub(super) fn definition(definition: &CustomResourceDefinition) -> anyhow::Result<Derived> {
    Ok(Derived {
        path: format!("config/crd/{}", base(&definition.spec.names.plural)),
        text: yaml::file(definition)?,
    })
}

/// What `kubectl apply -k config/crd` goes by.
pub(super) fn kustomization() -> anyhow::Result<Derived> {
    Ok(Derived {
        path: "config/crd/kustomization.yaml".to_owned(),
        text: yaml::file(&json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [base("schedexts"), base("schedextnodes")],
        }))?,
    })
}

fn base(plural: &str) -> String {
    format!("bases/sked.schedkit.io_{plural}.yaml")
}
