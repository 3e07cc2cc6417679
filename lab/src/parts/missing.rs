//! Finds out which parts are not in the cache yet.

use super::{kernel, kube, kwok, pod_images, qemu, registry, root_disk, scheduler, signing};
use crate::cache::Cache;
use crate::debian;
use crate::preflight::MissingParts;
use crate::spec::{Goal, LabSpec};
use crate::topology::Topology;

/// The packages that running a lab needs. The nodes run on another QEMU than this one, which is
/// installed for its libraries: the other one needs the same.
const TO_RUN: &[&str] = &["iproute2", "openssh-client", "qemu-system-x86"];
/// The packages that building the nodes' disks needs.
const TO_BUILD_DISKS: &[&str] = &["debian-archive-keyring", "e2fsprogs", "kmod", "mmdebstrap"];

pub(super) fn find(cache: &Cache, spec: &LabSpec) -> MissingParts {
    let nodes = spec.topology.has_nodes();
    let signing = signing::is_missing(cache, spec.signing)
        || (spec.topology.has_referrers() && signing::is_sigstore_missing(cache));
    let schedulers = spec.topology.has_schedulers()
        && spec
            .schedulers
            .iter()
            .any(|which| scheduler::is_missing(cache, spec, *which));
    let kernel =
        (nodes && kernel::cached(cache, &spec.kernel).is_none()).then(|| spec.kernel.clone());
    let disk = nodes && root_disk::is_missing(cache);
    let mut packages = TO_RUN.to_vec();
    if kernel.is_some() || disk {
        packages.extend(TO_BUILD_DISKS);
    }
    // `prepare` also installs what work on the schedulers themselves needs.
    if schedulers || spec.goal == Goal::Prepared {
        packages.extend(scheduler::PACKAGES);
        if spec.arm64 {
            packages.extend(scheduler::ARM64_PACKAGES);
        }
    }
    if spec.topology == Topology::Cluster && pod_images::is_missing(cache) {
        packages.extend(pod_images::PACKAGES);
    }
    MissingParts {
        packages: debian::missing_packages(&packages),
        kubernetes: (spec.topology.has_kubernetes() && kube::is_missing(cache))
            || (spec.kwok && kwok::is_missing(cache)),
        signing,
        schedulers,
        debian: disk || (nodes && qemu::is_missing(cache)) || registry::is_missing(cache),
        kernel,
    }
}
