//! `charts/sked/files`: what the chart installs as it is in `config/`. helm sees nothing outside a
//! chart's own folder, so these are copies; the chart's templates put them into its namespace.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::Derived;

/// Folders that are copied whole, but for their kustomizations.
const FOLDERS: [&str; 5] = [
    "crd/bases",
    "network-policy",
    "policy",
    "prometheus",
    "rbac",
];

/// Single files.
const FILES: [&str; 8] = [
    "agent/priority_class.yaml",
    "agent/service_account.yaml",
    "grafana/sked.json",
    "manager/metrics_service.yaml",
    "node-pools/node_pools.yaml",
    "verified/images/images.yaml",
    "verified/pull-secrets/namespace.yaml",
    "verified/trust-policy.yaml",
];

/// The copies: of what was just derived where it was, of what people wrote otherwise.
pub(super) fn copies(root: &Path, derived: &[Derived]) -> anyhow::Result<Vec<Derived>> {
    let mut names: Vec<String> = FILES.map(str::to_owned).into();
    for folder in FOLDERS {
        for entry in fs::read_dir(root.join("config").join(folder)).context(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".yaml") && name != "kustomization.yaml" {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let from = format!("config/{name}");
            let text = match derived.iter().find(|file| file.path == from) {
                Some(file) => file.text.clone(),
                None => fs::read_to_string(root.join(&from)).context(from)?,
            };
            let path = format!("charts/sked/files/{}", name.replace("/bases", ""));
            Ok(Derived { path, text })
        })
        .collect()
}
