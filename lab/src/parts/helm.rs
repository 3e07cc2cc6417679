//! helm, built from its Go module, for the tests of the chart; no lab runs it.

use std::path::PathBuf;

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::progress::Reporter;

const NAME: &str = "helm";
const PACKAGE: &str = "helm.sh/helm/v4/cmd/helm";
const FILES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../tools/helm/go.mod")),
    ("go.sum", include_str!("../../tools/helm/go.sum")),
];

fn version() -> &'static str {
    let [(_, go_mod), _] = FILES;
    golang::version(go_mod, PACKAGE)
}

fn key() -> Key {
    Key::of(FILES.iter().flat_map(|(name, text)| [name, text]))
}

pub fn is_missing(cache: &Cache) -> bool {
    cache.find(NAME, &key()).is_none()
}

/// The program; builds it if the cache does not have it.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let version = version();
    let folder = cache.part(NAME, &key(), reporter, |folder| {
        reporter.step(format!("building {NAME} {version}"), || {
            golang::in_module(folder, FILES, |module| {
                golang::build(
                    cache,
                    &golang::Build {
                        module,
                        package: PACKAGE,
                        link: &format!("-X helm.sh/helm/v4/internal/version.version={version}"),
                        output: &folder.join(NAME),
                        part: NAME,
                    },
                )
            })
        })
    })?;
    Ok(folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_pinned_and_has_a_tool_line() {
        assert!(version().starts_with("v4."), "{}", version());
        let [(_, go_mod), _] = FILES;
        assert!(go_mod.contains(&format!("tool {PACKAGE}\n")));
    }
}
