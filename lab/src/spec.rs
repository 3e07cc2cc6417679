//! What a lab consists of. Plain data: the command line or a test writes it, the supervisor reads it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment;
use crate::topology::Topology;

/// The kernel series that a lab boots unless asked otherwise: the newest with long-term support.
pub const DEFAULT_KERNEL: &str = "6.18";

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

/// Which programs that sign and verify a lab has.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Signing {
    #[default]
    None,
    /// A Sigstore of our own, which signs and makes flawed signatures; built in seconds.
    Sigstore,
    /// That, and cosign 2 and 3; built in minutes.
    Cosign,
}

/// How far the supervisor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Every part is in the cache; nothing runs.
    Prepared,
    /// The lab runs.
    Running,
}

/// Everything the supervisor must know to make a lab. Leaves it no choice but free ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabSpec {
    /// The lab's name; its state is kept under it.
    pub name: String,
    /// How far to go.
    pub goal: Goal,
    /// How much of a cluster.
    pub topology: Topology,
    /// How many virtual machines; ignored where the topology has none.
    pub nodes: u8,
    /// Kernel series (`6.18`) or exact release.
    pub kernel: String,
    /// Which scheduler images to hold ready.
    pub schedulers: Vec<Scheduler>,
    /// Whether kwok plays nodes that are objects only; see [`crate::kwok`].
    pub kwok: bool,
    pub signing: Signing,
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

impl LabSpec {
    /// An ordinary lab: one node, the default kernel, our own scheduler, free ports. `labs` is
    /// the folder that holds the state of all labs.
    pub fn new(name: &str, topology: Topology, labs: &Path) -> Self {
        Self {
            name: name.to_owned(),
            goal: Goal::Running,
            topology,
            nodes: 1,
            kernel: DEFAULT_KERNEL.to_owned(),
            schedulers: vec![Scheduler::ScxLab],
            kwok: false,
            signing: Signing::None,
            api_port: None,
            registry_port: None,
            state: absolute(&labs.join(name)),
            cache: absolute(&environment::cache_folder()),
            accelerator: environment::accelerator(),
        }
    }

    /// The number of virtual machines that will really be there.
    pub fn node_count(&self) -> u8 {
        if self.topology.has_nodes() {
            self.nodes
        } else {
            0
        }
    }
}

/// A path that holds in the supervisor, too, wherever it runs.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
