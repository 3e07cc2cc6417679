//! The programs that install sked in a cluster: kustomize and helm, built from their Go modules.
//! `make` and the tests of the installation use them; no lab does.

use std::path::PathBuf;

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::progress::Reporter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallTool {
    /// The same version as in the lab's `kubectl`.
    Kustomize,
    Helm,
}

impl InstallTool {
    /// Name of the program and of its folder under `lab/tools`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kustomize => "kustomize",
            Self::Helm => "helm",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Kustomize => "sigs.k8s.io/kustomize/kustomize/v5",
            Self::Helm => "helm.sh/helm/v4/cmd/helm",
        }
    }

    fn files(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::Kustomize => [
                ("go.mod", include_str!("../../tools/kustomize/go.mod")),
                ("go.sum", include_str!("../../tools/kustomize/go.sum")),
            ],
            Self::Helm => [
                ("go.mod", include_str!("../../tools/helm/go.mod")),
                ("go.sum", include_str!("../../tools/helm/go.sum")),
            ],
        }
    }

    /// The Go variable that holds the version.
    fn version_variable(self) -> &'static str {
        match self {
            Self::Kustomize => "sigs.k8s.io/kustomize/api/provenance.version",
            Self::Helm => "helm.sh/helm/v4/internal/version.version",
        }
    }

    fn version(self) -> &'static str {
        let [(_, go_mod), _] = self.files();
        golang::version(go_mod, self.package())
    }

    fn key(self) -> Key {
        Key::of(self.files().iter().flat_map(|(name, text)| [name, text]))
    }
}

pub fn is_missing(cache: &Cache, tool: InstallTool) -> bool {
    cache.find(tool.name(), &tool.key()).is_none()
}

/// The program; builds it if the cache does not have it.
pub fn make(cache: &Cache, tool: InstallTool, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let (name, version) = (tool.name(), tool.version());
    let folder = cache.part(name, &tool.key(), reporter, |folder| {
        reporter.step(format!("building {name} {version}"), || {
            golang::in_module(folder, tool.files(), |module| {
                golang::build(
                    cache,
                    &golang::Build {
                        module,
                        package: tool.package(),
                        link: &format!("-X {}={version}", tool.version_variable()),
                        output: &folder.join(name),
                        part: name,
                    },
                )
            })
        })
    })?;
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBE: &str = include_str!("../../tools/go.mod");

    #[test]
    fn each_tool_is_pinned_and_has_a_tool_line() {
        for (tool, number) in [(InstallTool::Kustomize, "v5."), (InstallTool::Helm, "v4.")] {
            assert!(tool.version().starts_with(number), "{}", tool.version());
            let [(_, go_mod), _] = tool.files();
            let line = format!("tool {}\n", tool.package());
            assert!(go_mod.contains(&line), "{}", tool.name());
        }
    }

    #[test]
    fn kustomize_has_the_version_that_kubectl_has_built_in() {
        let tool = InstallTool::Kustomize;
        let inside = golang::version(KUBE, tool.package());
        assert_eq!(tool.version(), inside);
    }
}
