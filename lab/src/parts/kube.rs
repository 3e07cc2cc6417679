//! etcd and Kubernetes, built from their Go modules as pinned in `lab/tools/go.mod`.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::disk;
use crate::progress::Reporter;

const GO_MOD: &str = include_str!("../../tools/go.mod");
const GO_SUM: &str = include_str!("../../tools/go.sum");

/// A program and the Go package it is built from.
struct Program {
    name: &'static str,
    package: &'static str,
}

const PROGRAMS: [Program; 6] = [
    Program {
        name: "etcd",
        package: "go.etcd.io/etcd/server/v3",
    },
    Program {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
    },
    Program {
        name: "kube-controller-manager",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    },
    Program {
        name: "kube-scheduler",
        package: "k8s.io/kubernetes/cmd/kube-scheduler",
    },
    Program {
        name: "kubectl",
        package: "k8s.io/kubernetes/cmd/kubectl",
    },
    Program {
        name: "kubelet",
        package: "k8s.io/kubernetes/cmd/kubelet",
    },
];

/// A folder with all the programs.
#[derive(Clone, Debug)]
pub struct KubeBinaries(PathBuf);

impl KubeBinaries {
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// Increase it when the programs are built differently from the same modules.
const RECIPE: &str = "1";

fn key() -> Key {
    Key::of([GO_MOD, GO_SUM, RECIPE])
}

pub fn is_missing(cache: &Cache) -> bool {
    cache.find("kube", &key()).is_none()
}

/// The programs; builds them if the cache does not have them. They are one part: if one of them
/// changes, Go's own cache makes the build of the others quick.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<KubeBinaries, PartError> {
    let folder = cache.part("kube", &key(), reporter, |folder| {
        let module = folder.join("module");
        fs::create_dir(&module)?;
        fs::write(module.join("go.mod"), GO_MOD)?;
        fs::write(module.join("go.sum"), GO_SUM)?;
        for program in &PROGRAMS {
            reporter.step(
                format!("building {} {}", program.name, version(program.package)),
                || build(cache, &module, program, &folder.join(program.name)),
            )?;
        }
        fs::remove_dir_all(&module)?;
        Ok::<(), PartError>(())
    })?;
    Ok(KubeBinaries(folder))
}

/// A disk with the kubelet. It is not on the root disk because the two change for different reasons.
pub fn kubelet_disk(
    cache: &Cache,
    binaries: &KubeBinaries,
    reporter: &Reporter,
) -> Result<PathBuf, PartError> {
    let folder = cache.part("kubelet-disk", &key(), reporter, |folder| {
        reporter.step("writing the kubelet's disk", || {
            let tree = folder.join("tree");
            fs::create_dir(&tree)?;
            fs::copy(binaries.program("kubelet"), tree.join("kubelet"))?;
            disk::make(&tree, &folder.join("kubelet.img"), 160, &cache.log("kube"))?;
            fs::remove_dir_all(&tree)?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("kubelet.img"))
}

fn build(cache: &Cache, module: &Path, program: &Program, output: &Path) -> Result<(), PartError> {
    // Without these the version is v0.0.0-master, and the API server checks the kubelet's version.
    let version = version("k8s.io/kubernetes/cmd/kubelet");
    let link = [
        "k8s.io/component-base/version",
        "k8s.io/client-go/pkg/version",
    ]
    .map(|package| format!("-X {package}.gitVersion={version}"))
    .join(" ");
    golang::build(
        cache,
        &golang::Build {
            module,
            package: program.package,
            link: &link,
            output,
            part: "kube",
        },
    )
}

fn version(package: &str) -> &'static str {
    golang::version(GO_MOD, package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_pinned_version_and_a_tool_line() {
        for program in &PROGRAMS {
            let version = version(program.package);
            assert!(
                version.starts_with('v') && version.contains('.'),
                "{}: {version:?}",
                program.name
            );
            let tool_line = format!("\t{}\n", program.package);
            assert!(
                GO_MOD.contains(&tool_line),
                "no tool line for {}",
                program.package
            );
        }
    }
}
