//! The definitions of ServiceMonitor, PodMonitor and PrometheusRule as their authors publish them, from the
//! Go module of Prometheus' operator: the API server then judges ours field by field.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{PartError, golang};
use crate::cache::{Cache, Key};
use crate::command;
use crate::progress::Reporter;

const MODULE: &str = "github.com/prometheus-operator/prometheus-operator";

const FILES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../tools/monitoring/go.mod")),
    ("go.sum", include_str!("../../tools/monitoring/go.sum")),
];

const DEFINITIONS: [&str; 3] = ["podmonitors", "prometheusrules", "servicemonitors"];

/// A folder with the definitions and nothing else, fetched unless it is there.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let files = FILES.iter().flat_map(|(name, text)| [name, text]);
    let key = Key::of(files.chain(&DEFINITIONS));
    cache.part("monitoring", &key, reporter, |folder| {
        reporter.step("fetching the definitions of Prometheus' operator", || {
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
                for name in DEFINITIONS {
                    let file = format!("monitoring.coreos.com_{name}.yaml");
                    let from = PathBuf::from(source.trim()).join("example/prometheus-operator-crd");
                    fs::copy(from.join(&file), folder.join(&file))?;
                }
                Ok(())
            })
        })
    })
}
