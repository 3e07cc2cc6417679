//! Everything a lab is put together from. Each part is made once, kept in the cache, and found
//! there by the fingerprint of its recipe.
//!
//! [`gather`] is the table of contents: check what the missing parts need, then make them, the
//! slow ones side by side.

pub mod containerd;
mod golang;
pub mod install_tool;
pub mod kernel;
pub mod kube;
pub mod kwok;
pub mod monitoring;
pub mod prometheus;
pub mod qemu;
pub mod registry;
pub mod root_disk;
pub mod scheduler;
pub mod signing;
pub mod support;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc;

use schedkit_core::KernelRelease;

use crate::cache::{Cache, CacheError};
use crate::command::CommandError;
use crate::debian::{self, Archive, DebianError};
use crate::disk::DiskError;
use crate::oci::{Image, Index};
use crate::preflight::{self, PreflightError};
use crate::progress::Reporter;
use crate::signing::Tools;
use crate::spec::{Goal, LabSpec};
use crate::topology::Topology;
use kernel::{Equipment, Kernel, KernelError};
use kube::Binaries;
use qemu::Qemu;

/// What this machine itself must have to run a lab. The nodes run on another QEMU than this one,
/// which is here for the libraries: it needs all that the other one needs.
const TO_RUN: &[&str] = &["iproute2", "openssh-client", "qemu-system-x86"];
/// What it must have to make the nodes' disks.
const TO_MAKE_DISKS: &[&str] = &["debian-archive-keyring", "e2fsprogs", "kmod", "mmdebstrap"];

/// Everything one lab needs.
pub struct Parts {
    /// Kubernetes, where the topology has it.
    pub binaries: Option<Binaries>,
    /// kwok, if a kwok of nodes was asked for.
    pub kwok: Option<PathBuf>,
    /// What nodes run on and boot from, where the topology has nodes.
    pub node: Option<NodeParts>,
    /// The registry's program.
    pub registry: PathBuf,
    /// The program of the registry with the referrers API, where the topology has one.
    pub referrers: Option<PathBuf>,
    /// What signs and verifies, if it was asked for.
    pub tools: Option<Tools>,
    /// What the registry holds from the start.
    pub stock: Vec<StockImage>,
}

/// What nodes run on and boot from.
pub struct NodeParts {
    /// What they run on.
    pub qemu: Qemu,
    /// The kernel and its modules.
    pub kernel: Kernel,
    /// The root file system.
    pub root_disk: PathBuf,
    /// The kubelet, when the nodes join a cluster.
    pub kubelet_disk: Option<PathBuf>,
}

/// An image and its name in the registry.
pub enum StockImage {
    /// For one platform.
    Single {
        /// Its repository.
        repository: String,
        /// Its tag.
        tag: String,
        /// The image.
        image: Image,
    },
    /// For several.
    Multi {
        /// Its repository.
        repository: String,
        /// Its tag.
        tag: String,
        /// The images.
        index: Index,
    },
}

/// Why a part cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// This machine cannot make it.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// Debian's packages.
    #[error(transparent)]
    Debian(#[from] DebianError),
    /// The kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A program failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Files could not be read or written.
    #[error("cannot put a part of the lab together")]
    Io(#[from] io::Error),
}

/// Gives all parts of a lab; makes what is missing. Whatever can be known to fail fails before
/// anything slow begins, and with nothing missing nothing is fetched or built.
pub fn gather(cache: &Cache, spec: &LabSpec, reporter: &Reporter) -> Result<Parts, PartError> {
    let missing = Missing::look(cache, spec);
    preflight::check(cache, spec, &missing)?;
    let archive = Archive::of_nodes(cache)?;
    let release = match (&missing.kernel, missing.anything()) {
        (_, false) => None,
        (wanted, true) => {
            reporter.step("looking up Debian's packages", || archive.refresh(cache))?;
            wanted
                .as_deref()
                .map(|series| kernel::newest(&archive, series))
                .transpose()?
        }
    };
    if !missing.packages.is_empty() {
        let what = format!("installing {}", missing.packages.join(", "));
        reporter.step(what, || debian::install(cache, &missing.packages))?;
    }
    make(cache, spec, reporter, &archive, release)
}

/// What is built with Go, as far as it is wanted.
#[derive(Default)]
struct GoPrograms {
    binaries: Option<Binaries>,
    kwok: Option<PathBuf>,
    referrers: Option<PathBuf>,
    tools: Option<Tools>,
}

/// What one of the slow chains yields.
enum Yield {
    Go(GoPrograms),
    Rust(Vec<StockImage>),
    Debian(PathBuf, Option<NodeParts>),
}

/// The three slow chains (Go, Rust, Debian) have little in common, so they run side by side. The
/// first that fails ends it all at once: the others are left behind and die with the process.
fn make(
    cache: &Cache,
    spec: &LabSpec,
    reporter: &Reporter,
    archive: &Archive,
    release: Option<KernelRelease>,
) -> Result<Parts, PartError> {
    let (sender, yields) = mpsc::channel();
    let shop = Shop {
        cache: cache.clone(),
        spec: spec.clone(),
        reporter: reporter.clone(),
        archive: archive.clone(),
        release,
    };
    for chain in [Shop::go, Shop::rust, Shop::debian] {
        let (shop, sender) = (shop.clone(), sender.clone());
        std::thread::spawn(move || {
            // Nobody listens any more once another chain has failed.
            let _ = sender.send(chain(&shop));
        });
    }
    drop(sender);
    let (mut programs, mut stock, mut registry, mut node) =
        (GoPrograms::default(), Vec::new(), PathBuf::new(), None);
    for result in yields {
        match result? {
            Yield::Go(made) => programs = made,
            Yield::Rust(made) => stock = made,
            Yield::Debian(program, made) => (registry, node) = (program, made),
        }
    }
    let GoPrograms {
        binaries,
        kwok,
        referrers,
        tools,
    } = programs;
    if let (Some(binaries), Some(node)) = (&binaries, &mut node) {
        node.kubelet_disk = Some(kube::kubelet_disk(cache, binaries, reporter)?);
        stock.extend(support::stock(cache, binaries, reporter)?);
    }
    Ok(Parts {
        binaries,
        kwok,
        node,
        registry,
        referrers,
        tools,
        stock,
    })
}

/// What a chain works with; its own copy, because nobody waits for a chain after another failed.
#[derive(Clone)]
struct Shop {
    cache: Cache,
    spec: LabSpec,
    reporter: Reporter,
    archive: Archive,
    release: Option<KernelRelease>,
}

impl Shop {
    fn go(&self) -> Result<Yield, PartError> {
        let (spec, cache, reporter) = (&self.spec, &self.cache, &self.reporter);
        let (kubernetes, referrers) = (
            spec.topology.has_kubernetes(),
            spec.topology.has_referrers(),
        );
        Ok(Yield::Go(GoPrograms {
            binaries: kubernetes
                .then(|| kube::make(cache, reporter))
                .transpose()?,
            kwok: spec.kwok.then(|| kwok::make(cache, reporter)).transpose()?,
            referrers: referrers
                .then(|| signing::make_sigstore(cache, reporter))
                .transpose()?,
            tools: signing::make(cache, spec.signing, reporter)?,
        }))
    }

    fn rust(&self) -> Result<Yield, PartError> {
        let mut stock = Vec::new();
        if self.spec.topology.has_schedulers() {
            for which in &self.spec.schedulers {
                stock.extend(scheduler::stock(&self.cache, *which, &self.reporter)?);
            }
        }
        Ok(Yield::Rust(stock))
    }

    fn debian(&self) -> Result<Yield, PartError> {
        let Self {
            cache,
            spec,
            reporter,
            archive,
            release,
        } = self;
        let registry = registry::make(cache, reporter)?;
        if !spec.topology.has_nodes() {
            return Ok(Yield::Debian(registry, None));
        }
        let qemu = qemu::make(cache, reporter)?;
        let kernel = match (kernel::cached(cache, &spec.kernel), release) {
            (Some(kernel), _) => kernel,
            (None, Some(release)) => kernel::make(cache, archive, reporter, release.clone())?,
            // Somebody emptied the cache between the look and now.
            (None, None) => kernel::make(
                cache,
                archive,
                reporter,
                kernel::newest(archive, &spec.kernel)?,
            )?,
        };
        if kernel.equipment == Equipment::Bare && spec.topology.has_kubernetes() {
            return Err(KernelError::Bare(kernel.release).into());
        }
        let root_disk = root_disk::make(cache, archive, reporter)?;
        let node = NodeParts {
            qemu,
            kernel,
            root_disk,
            // The kubelet comes out of another chain.
            kubelet_disk: None,
        };
        Ok(Yield::Debian(registry, Some(node)))
    }
}

/// What is not in the cache yet.
#[derive(Debug)]
pub struct Missing {
    /// Packages of this machine.
    pub packages: Vec<String>,
    /// Kubernetes, to be built with Go.
    pub go: bool,
    /// What signs and verifies, to be built with Go.
    pub signing: bool,
    /// Schedulers to be built with Rust.
    pub rust: bool,
    /// QEMU, the root disk or the registry's program.
    pub debian: bool,
    /// The kernel series to be fetched.
    pub kernel: Option<String>,
}

impl Missing {
    fn look(cache: &Cache, spec: &LabSpec) -> Self {
        let nodes = spec.topology.has_nodes();
        let signing = signing::is_missing(cache, spec.signing)
            || (spec.topology.has_referrers() && signing::is_sigstore_missing(cache));
        let rust = spec.topology.has_schedulers()
            && spec
                .schedulers
                .iter()
                .any(|which| scheduler::is_missing(cache, *which));
        let kernel =
            (nodes && kernel::cached(cache, &spec.kernel).is_none()).then(|| spec.kernel.clone());
        let disk = nodes && root_disk::is_missing(cache);
        let mut packages = TO_RUN.to_vec();
        if kernel.is_some() || disk {
            packages.extend(TO_MAKE_DISKS);
        }
        // `prepare` readies this machine for work on the schedulers themselves, too.
        if rust || spec.goal == Goal::Prepared {
            packages.extend(scheduler::PACKAGES);
        }
        if spec.topology == Topology::Cluster && support::is_missing(cache) {
            packages.extend(support::PACKAGES);
        }
        Self {
            packages: debian::missing_packages(&packages),
            go: (spec.topology.has_kubernetes() && kube::is_missing(cache))
                || (spec.kwok && kwok::is_missing(cache)),
            signing,
            rust,
            debian: disk || (nodes && qemu::is_missing(cache)) || registry::is_missing(cache),
            kernel,
        }
    }

    /// Whether anything must be made or installed.
    pub fn anything(&self) -> bool {
        let Self {
            packages,
            go,
            signing,
            rust,
            debian,
            kernel,
        } = self;
        !packages.is_empty() || *go || *signing || *rust || *debian || kernel.is_some()
    }
}
