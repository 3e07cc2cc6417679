//! What kind of lab is wanted. Plain data: it travels from the command line or a test to the keeper.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment;

/// The kernel series that a lab boots unless asked otherwise: the newest with long-term support.
pub const DEFAULT_KERNEL: &str = "6.18";

/// How much of a cluster a lab has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// A control plane and nodes that have joined it.
    Cluster,
    /// A control plane without nodes: ready in seconds.
    ControlPlane,
    /// Nodes without Kubernetes: a kernel, podman and containerd.
    Machine,
    /// Registries only, without and with the referrers API: ready in seconds.
    Registry,
}

impl Ground {
    /// Whether there is an API server.
    pub fn has_kubernetes(self) -> bool {
        match self {
            Self::Cluster | Self::ControlPlane => true,
            Self::Machine | Self::Registry => false,
        }
    }

    /// Whether there are virtual machines.
    pub fn has_nodes(self) -> bool {
        match self {
            Self::Cluster | Self::Machine => true,
            Self::ControlPlane | Self::Registry => false,
        }
    }

    /// Whether the registry holds schedulers: wherever somebody could pull them.
    pub fn has_schedulers(self) -> bool {
        match self {
            Self::Cluster | Self::Machine | Self::Registry => true,
            Self::ControlPlane => false,
        }
    }

    /// Whether there is a second registry, one with the referrers API.
    pub fn has_referrers(self) -> bool {
        match self {
            Self::Registry => true,
            Self::Cluster | Self::ControlPlane | Self::Machine => false,
        }
    }
}

/// A scheduler whose image the lab's registry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Our own, which misbehaves on order.
    #[value(name = "scx_lab")]
    ScxLab,
    /// One that others wrote, from the Rust package registry.
    #[value(name = "scx_bpfland")]
    ScxBpfland,
}

/// How far the keeper goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Every part is in the cache; nothing runs.
    Prepared,
    /// The lab runs.
    Running,
}

/// Everything the keeper must know to make a lab. Leaves it no choice but free ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The lab's name; its state is kept under it.
    pub name: String,
    /// How far to go.
    pub goal: Goal,
    /// How much of a cluster.
    pub ground: Ground,
    /// How many virtual machines; ignored where the ground has none.
    pub nodes: u8,
    /// Kernel series (`6.18`) or exact release.
    pub kernel: String,
    /// Which scheduler images to hold ready.
    pub schedulers: Vec<Scheduler>,
    /// Whether kwok plays nodes that are objects only; see [`crate::crowd`].
    pub crowd: bool,
    /// Whether to hold ready what signs and verifies: both editions of cosign and a Sigstore.
    pub signing: bool,
    /// Fixed port of the API server on this machine's loopback; any free one otherwise.
    pub api_port: Option<u16>,
    /// Fixed port of the registry on this machine's loopback; any free one otherwise.
    pub registry_port: Option<u16>,
    /// Folder of this lab's running state.
    pub state: PathBuf,
    /// Folder of what is kept between labs.
    pub cache: PathBuf,
    /// QEMU's accelerator.
    pub accelerator: String,
}

impl Order {
    /// An ordinary lab: one node, the default kernel, our own scheduler, free ports. `labs` is
    /// the folder that holds the state of all labs.
    pub fn new(name: &str, ground: Ground, labs: &Path) -> Self {
        Self {
            name: name.to_owned(),
            goal: Goal::Running,
            ground,
            nodes: 1,
            kernel: DEFAULT_KERNEL.to_owned(),
            schedulers: vec![Scheduler::ScxLab],
            crowd: false,
            signing: false,
            api_port: None,
            registry_port: None,
            state: absolute(&labs.join(name)),
            cache: absolute(&environment::cache_folder()),
            accelerator: environment::accelerator(),
        }
    }

    /// The number of virtual machines that will really be there.
    pub fn node_count(&self) -> u8 {
        if self.ground.has_nodes() {
            self.nodes
        } else {
            0
        }
    }
}

/// A path that holds in the keeper, too, wherever it runs.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
