//! The programs, disks and images that a lab is built from. Each part is fetched or built once and
//! kept in the cache under a hash of everything it is built from.
//!
//! [`prepare`] has the steps: check that the missing parts can be built, then build them, the slow
//! ones at the same time.

pub mod containerd;
mod error;
mod golang;
pub mod helm;
pub mod kernel;
pub mod kube;
pub mod kwok;
mod missing;
pub mod monitoring;
pub mod pod_images;
pub mod prometheus;
pub mod qemu;
pub mod registry;
mod registry_image;
pub mod root_disk;
pub mod scheduler;
pub mod signing;

use std::path::PathBuf;
use std::sync::mpsc;

use schedkit_core::KernelRelease;

pub use self::error::PartError;
pub use self::registry_image::RegistryImage;
use crate::cache::Cache;
use crate::debian::{self, Archive};
use crate::preflight;
use crate::progress::Reporter;
use crate::signing::Tools;
use crate::spec::LabSpec;
use kernel::{Kernel, KernelError, Modules};
use kube::KubeBinaries;
use qemu::Qemu;

/// All parts of one lab.
pub struct Parts {
    /// etcd and Kubernetes, if the topology has them.
    pub kube: Option<KubeBinaries>,
    /// The kwok program, if the specification asks for it.
    pub kwok: Option<PathBuf>,
    /// QEMU and disks, if the topology has nodes.
    pub node: Option<NodeParts>,
    /// The registry's program.
    pub registry: PathBuf,
    /// The program of the registry with the referrers API, if the topology has one.
    pub referrers: Option<PathBuf>,
    /// cosign and the private Sigstore, if the specification asks for them.
    pub tools: Option<Tools>,
    /// The images that the registries hold from the start.
    pub images: Vec<RegistryImage>,
}

pub struct NodeParts {
    pub qemu: Qemu,
    pub kernel: Kernel,
    pub root_disk: PathBuf,
    /// A disk with the kubelet, if the nodes join a cluster.
    pub kubelet_disk: Option<PathBuf>,
}

/// Returns all parts of a lab and builds those that the cache does not have. Errors that can be
/// known beforehand come before anything slow begins. If nothing is missing, nothing is fetched.
pub fn prepare(cache: &Cache, spec: &LabSpec, reporter: &Reporter) -> Result<Parts, PartError> {
    let missing = missing::find(cache, spec);
    preflight::check(cache, spec, &missing)?;
    let archive = Archive::of_nodes(cache)?;
    let mut release = None;
    if missing.anything() {
        reporter.step("looking up Debian's packages", || archive.refresh(cache))?;
        if let Some(series) = &missing.kernel {
            release = Some(kernel::newest(&archive, series)?);
        }
    }
    if !missing.packages.is_empty() {
        let what = format!("installing {}", missing.packages.join(", "));
        reporter.step(what, || debian::install(cache, &missing.packages))?;
    }
    build(cache, spec, reporter, &archive, release)
}

/// The parts that are built with Go.
#[derive(Default)]
struct GoParts {
    kube: Option<KubeBinaries>,
    kwok: Option<PathBuf>,
    referrers: Option<PathBuf>,
    tools: Option<Tools>,
}

/// The result of one build thread.
enum Built {
    Go(GoParts),
    Rust(Vec<RegistryImage>),
    Debian {
        registry: PathBuf,
        node: Option<NodeParts>,
    },
}

/// Builds with Go, with Rust and from Debian's packages at the same time. The first error is
/// returned at once: the other threads end with the process.
fn build(
    cache: &Cache,
    spec: &LabSpec,
    reporter: &Reporter,
    archive: &Archive,
    release: Option<KernelRelease>,
) -> Result<Parts, PartError> {
    let (sender, results) = mpsc::channel();
    let builder = Builder {
        cache: cache.clone(),
        spec: spec.clone(),
        reporter: reporter.clone(),
        archive: archive.clone(),
        release,
    };
    for work in [Builder::go, Builder::rust, Builder::debian] {
        let (builder, sender) = (builder.clone(), sender.clone());
        std::thread::spawn(move || {
            // The receiver is gone once another thread has failed.
            let _ = sender.send(work(&builder));
        });
    }
    drop(sender);
    let (mut go, mut images, mut registry, mut node) =
        (GoParts::default(), Vec::new(), PathBuf::new(), None);
    for result in results {
        match result? {
            Built::Go(built) => go = built,
            Built::Rust(built) => images = built,
            Built::Debian {
                registry: program,
                node: built,
            } => (registry, node) = (program, built),
        }
    }
    let GoParts {
        kube,
        kwok,
        referrers,
        tools,
    } = go;
    if let (Some(kube), Some(node)) = (&kube, &mut node) {
        node.kubelet_disk = Some(kube::kubelet_disk(cache, kube, reporter)?);
        images.extend(pod_images::images(cache, kube, reporter)?);
    }
    Ok(Parts {
        kube,
        kwok,
        node,
        registry,
        referrers,
        tools,
        images,
    })
}

/// What a build thread works with; each has its own copy, because it may outlive the caller.
#[derive(Clone)]
struct Builder {
    cache: Cache,
    spec: LabSpec,
    reporter: Reporter,
    archive: Archive,
    release: Option<KernelRelease>,
}

impl Builder {
    fn go(&self) -> Result<Built, PartError> {
        let (spec, cache, reporter) = (&self.spec, &self.cache, &self.reporter);
        let (kubernetes, referrers) = (
            spec.topology.has_kubernetes(),
            spec.topology.has_referrers(),
        );
        Ok(Built::Go(GoParts {
            kube: kubernetes
                .then(|| kube::make(cache, reporter))
                .transpose()?,
            kwok: spec.kwok.then(|| kwok::make(cache, reporter)).transpose()?,
            referrers: referrers
                .then(|| signing::make_sigstore(cache, reporter))
                .transpose()?,
            tools: signing::make(cache, spec.signing, reporter)?,
        }))
    }

    fn rust(&self) -> Result<Built, PartError> {
        let mut images = Vec::new();
        if self.spec.topology.has_schedulers() {
            for which in &self.spec.schedulers {
                images.extend(scheduler::images(
                    &self.cache,
                    &self.spec,
                    *which,
                    &self.reporter,
                )?);
            }
        }
        Ok(Built::Rust(images))
    }

    fn debian(&self) -> Result<Built, PartError> {
        let Self {
            cache,
            spec,
            reporter,
            archive,
            ..
        } = self;
        let registry = registry::make(cache, reporter)?;
        if !spec.topology.has_nodes() {
            return Ok(Built::Debian {
                registry,
                node: None,
            });
        }
        let qemu = qemu::make(cache, reporter)?;
        let kernel = self.kernel()?;
        if kernel.modules == Modules::Missing && spec.topology.has_kubernetes() {
            return Err(KernelError::NoModules(kernel.release).into());
        }
        let root_disk = root_disk::make(cache, archive, reporter)?;
        let node = NodeParts {
            qemu,
            kernel,
            root_disk,
            // The Go thread builds the kubelet.
            kubelet_disk: None,
        };
        Ok(Built::Debian {
            registry,
            node: Some(node),
        })
    }

    fn kernel(&self) -> Result<Kernel, PartError> {
        if let Some(kernel) = kernel::cached(&self.cache, &self.spec.kernel) {
            return Ok(kernel);
        }
        let release = match &self.release {
            Some(release) => release.clone(),
            // Somebody emptied the cache after it was checked.
            None => kernel::newest(&self.archive, &self.spec.kernel)?,
        };
        Ok(kernel::make(
            &self.cache,
            &self.archive,
            &self.reporter,
            release,
        )?)
    }
}
