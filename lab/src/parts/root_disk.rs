//! The root file system of a node: a minimal Debian with podman, containerd and sshd.
//!
//! It knows nothing about any lab: who a node is comes with its seed at every boot, so a
//! change there builds nothing anew.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::PartError;
use crate::cache::{Cache, Key};
use crate::command;
use crate::debian::{Archive, SUITE};
use crate::disk;
use crate::progress::Reporter;

const PACKAGES: &str = "ca-certificates,conntrack,containerd,containernetworking-plugins,crun,\
                        golang-github-containers-common,iproute2,iptables,kmod,nftables,openssh-server,podman,procps,runc";

/// Sparse: what a node does not use takes no room.
const MEBIBYTES: u64 = 6 << 10;

/// Bump when the disk is made differently from the same packages.
const RECIPE: &str = "2";

fn key() -> Key {
    Key::of([SUITE, PACKAGES, RECIPE])
}

/// Whether it must be made first.
pub fn is_missing(cache: &Cache) -> bool {
    cache.find("root-disk", &key()).is_none()
}

/// The disk's image, made unless it is there.
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
            )?;
            Ok::<(), PartError>(())
        })?;
        reporter.step("writing the nodes' disk", || {
            disk::make_root(&tree, &folder.join("root.img"), MEBIBYTES, &log)?;
            fs::remove_dir_all(&tree)?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("root.img"))
}
