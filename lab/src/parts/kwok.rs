//! kwok, which simulates kubelets; built from its Go module as pinned in `lab/tools/kwok/go.mod`.

use std::path::PathBuf;

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::progress::Reporter;

const GO_MOD: &str = include_str!("../../tools/kwok/go.mod");
const GO_SUM: &str = include_str!("../../tools/kwok/go.sum");
const PACKAGE: &str = "sigs.k8s.io/kwok/cmd/kwok";

fn key() -> Key {
    Key::of([GO_MOD, GO_SUM])
}

pub fn is_missing(cache: &Cache) -> bool {
    cache.find("kwok", &key()).is_none()
}

/// The program; builds it if the cache does not have it.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("kwok", &key(), reporter, |folder| {
        let what = format!("building kwok {}", golang::version(GO_MOD, PACKAGE));
        reporter.step(what, || {
            let files = [("go.mod", GO_MOD), ("go.sum", GO_SUM)];
            golang::in_module(folder, files, |module| {
                let build = golang::Build {
                    module,
                    package: PACKAGE,
                    link: "",
                    output: &folder.join("kwok"),
                    part: "kwok",
                };
                golang::build(cache, &build)
            })
        })
    })?;
    Ok(folder.join("kwok"))
}
