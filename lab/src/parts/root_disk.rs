//! The root file system of a node: a minimal Debian with podman, containerd and sshd.
//!
//! It is the same for all labs: name, addresses and keys of a node are in its configuration.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::error::PartError;
use crate::cache::{Cache, Key};
use crate::command;
use crate::debian::{Archive, SUITE};
use crate::disk;
use crate::progress::Reporter;

const PACKAGES: &str = "ca-certificates,conntrack,containerd,containernetworking-plugins,crun,\
                        golang-github-containers-common,iproute2,iptables,kmod,nftables,openssh-server,podman,procps,runc";

/// The file is sparse: unused blocks take no space.
const MEBIBYTES: u64 = 6 << 10;

/// Increase it when the disk is built differently from the same packages.
const RECIPE: &str = "2";

fn key() -> Key {
    Key::of([SUITE, PACKAGES, RECIPE])
}

pub fn is_missing(cache: &Cache) -> bool {
    cache.find("root-disk", &key()).is_none()
}

/// The disk's image; builds it if the cache does not have it.
pub fn make(cache: &Cache, archive: &Archive, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("root-disk", &key(), reporter, |folder| {
        let log = cache.log("root-disk");
        let tree = folder.join("tree");
        reporter.step(format!("installing Debian {SUITE} for the nodes"), || {
            let sources = folder.join("sources.list");
            fs::write(&sources, archive.sources())?;
            command::run(
                Command::new("mmdebstrap")
                    .args(["--mode=root", "--variant=minbase"])
                    .arg(format!("--include={PACKAGES}"))
                    .args(
                        ["doc", "man", "locale", "info"]
                            .map(|kind| format!("--dpkgopt=path-exclude=/usr/share/{kind}/*")),
                    )
                    .arg(SUITE)
                    .arg(&tree)
                    .arg(&sources),
                &log,
            )
            .map_err(|source| PartError::Build {
                part: "the nodes' root disk".to_owned(),
                log: log.display().to_string(),
                source,
            })
        })?;
        reporter.step("writing the nodes' disk", || {
            disk::make_root(&tree, &folder.join("root.img"), MEBIBYTES, &log)?;
            fs::remove_dir_all(&tree)?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("root.img"))
}
