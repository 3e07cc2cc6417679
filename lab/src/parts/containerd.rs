//! containerd versions that Debian 12 does not have, built from their Go modules. The tests of the
//! runtime drivers start them; no lab does.

use std::path::PathBuf;

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::progress::Reporter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// The last 1.x series.
    V1_7,
    V2,
}

impl Edition {
    fn part(self) -> &'static str {
        match self {
            Self::V1_7 => "containerd17",
            Self::V2 => "containerd",
        }
    }

    fn module(self) -> &'static str {
        match self {
            Self::V1_7 => "github.com/containerd/containerd",
            Self::V2 => "github.com/containerd/containerd/v2",
        }
    }

    fn files(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::V1_7 => [
                ("go.mod", include_str!("../../tools/containerd17/go.mod")),
                ("go.sum", include_str!("../../tools/containerd17/go.sum")),
            ],
            Self::V2 => [
                ("go.mod", include_str!("../../tools/containerd/go.mod")),
                ("go.sum", include_str!("../../tools/containerd/go.sum")),
            ],
        }
    }

    /// The daemon and its shim.
    fn packages(self) -> [(&'static str, String); 2] {
        ["containerd", "containerd-shim-runc-v2"]
            .map(|name| (name, format!("{}/cmd/{name}", self.module())))
    }

    fn version(self) -> &'static str {
        let [(_, go_mod), _] = self.files();
        golang::version(go_mod, self.module())
    }

    fn key(self) -> Key {
        Key::of(self.files().iter().flat_map(|(name, text)| [name, text]))
    }
}

/// A folder with the programs; builds them if the cache does not have them.
pub fn make(cache: &Cache, edition: Edition, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let version = edition.version();
    cache.part(edition.part(), &edition.key(), reporter, |folder| {
        reporter.step(format!("building containerd {version}"), || {
            golang::in_module(folder, edition.files(), |module| {
                for (name, package) in edition.packages() {
                    golang::build(
                        cache,
                        &golang::Build {
                            module,
                            package: &package,
                            link: &format!("-X {}/version.Version={version}", edition.module()),
                            output: &folder.join(name),
                            part: edition.part(),
                        },
                    )?;
                }
                Ok(())
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edition_is_pinned_and_has_its_tool_lines() {
        for (edition, number) in [(Edition::V1_7, "v1.7."), (Edition::V2, "v2.")] {
            let version = edition.version();
            assert!(version.starts_with(number), "{version}");
            let [(_, go_mod), _] = edition.files();
            for (_, package) in edition.packages() {
                assert!(go_mod.contains(&format!("\t{package}\n")), "{package}");
            }
        }
    }
}
