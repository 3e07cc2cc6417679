//! The CRDs of ServiceMonitor, PodMonitor and PrometheusRule, from the Go module of the Prometheus
//! operator: with them the API server validates our monitoring objects.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::command;
use crate::progress::Reporter;

const MODULE: &str = "github.com/prometheus-operator/prometheus-operator";

const FILES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../tools/monitoring/go.mod")),
    ("go.sum", include_str!("../../tools/monitoring/go.sum")),
];

const CRDS: [&str; 3] = ["podmonitors", "prometheusrules", "servicemonitors"];

/// A folder with the CRDs; fetches them if the cache does not have them.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let files = FILES.iter().flat_map(|(name, text)| [name, text]);
    let key = Key::of(files.chain(&CRDS));
    cache.part("monitoring", &key, reporter, |folder| {
        reporter.step("fetching the CRDs of the Prometheus operator", || {
            golang::in_module(folder, FILES, |module| {
                let source = command::read(
                    Command::new("go")
                        .current_dir(module)
                        .args(["mod", "download", MODULE])
                        .env("GOFLAGS", "-mod=readonly"),
                )
                .and_then(|_| {
                    command::read(
                        Command::new("go")
                            .current_dir(module)
                            .args(["list", "-m", "-f", "{{.Dir}}", MODULE])
                            .env("GOFLAGS", "-mod=readonly"),
                    )
                })?;
                for name in CRDS {
                    let file = format!("monitoring.coreos.com_{name}.yaml");
                    let from = PathBuf::from(source.trim()).join("example/prometheus-operator-crd");
                    fs::copy(from.join(&file), folder.join(&file))?;
                }
                Ok(())
            })
        })
    })
}
