//! What a lab consists of. Plain data: the command line or a test writes it, the supervisor reads it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment;
use crate::init::Init;
use crate::topology::Topology;

/// The kernel series that a lab boots by default: the newest with long-term support.
pub const DEFAULT_KERNEL: &str = "6.18";

/// A scheduler whose image the lab's registry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Our own, with faults that can be chosen.
    #[value(name = "scx_lab")]
    ScxLab,
    /// Third-party schedulers, from crates.io.
    #[value(name = "scx_bpfland")]
    ScxBpfland,
    #[value(name = "scx_lavd")]
    ScxLavd,
    #[value(name = "scx_rusty")]
    ScxRusty,
}

/// Which programs that sign and verify a lab has.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Signing {
    #[default]
    None,
    /// The private Sigstore, which signs and makes flawed signatures; built in seconds.
    Sigstore,
    /// That, and cosign 2 and 3; built in a quarter of an hour.
    Cosign,
}

/// When the supervisor is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Every part is in the cache; nothing runs.
    Prepared,
    Running,
}

/// Everything that the supervisor must know to start a lab; only free ports are left to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabSpec {
    /// The name of the lab, and of the folder of its state.
    pub name: String,
    pub goal: Goal,
    pub topology: Topology,
    /// The number of virtual machines; ignored if the topology has none.
    pub nodes: u8,
    /// The first process of each virtual machine.
    pub init: Init,
    /// Kernel series (`6.18`) or exact release.
    pub kernel: String,
    /// The schedulers whose images the registry holds.
    pub schedulers: Vec<Scheduler>,
    /// Whether kwok simulates the kubelets of labelled nodes; see [`crate::kwok`].
    pub kwok: bool,
    /// Whether images for several platforms have one for arm64, which takes longer to build.
    pub arm64: bool,
    pub signing: Signing,
    /// Fixed port of the API server on this machine's loopback; default: any free port.
    pub api_port: Option<u16>,
    /// Fixed port of the registry on this machine's loopback; default: any free port.
    pub registry_port: Option<u16>,
    /// Folder of this lab's state.
    pub state: PathBuf,
    /// Folder of the parts that are kept between labs.
    pub cache: PathBuf,
    /// Processors of each virtual machine. With one, a static branch is never patched while another
    /// emulated processor runs it, which QEMU gets wrong now and then.
    pub processors: u8,
    /// QEMU's `-accel`.
    pub accelerator: String,
}

impl LabSpec {
    /// A lab with the defaults: one node, the default kernel, scx_lab, free ports. `labs` is the
    /// folder that holds the state of all labs.
    pub fn new(name: &str, topology: Topology, labs: &Path) -> Self {
        Self {
            name: name.to_owned(),
            goal: Goal::Running,
            topology,
            nodes: 1,
            init: Init::Lab,
            kernel: DEFAULT_KERNEL.to_owned(),
            schedulers: vec![Scheduler::ScxLab],
            kwok: false,
            arm64: false,
            signing: Signing::None,
            api_port: None,
            registry_port: None,
            state: absolute(&labs.join(name)),
            cache: absolute(&environment::cache_folder()),
            processors: 2,
            accelerator: environment::accelerator(),
        }
    }

    /// The number of virtual machines: 0 if the topology has none.
    pub fn node_count(&self) -> u8 {
        if self.topology.has_nodes() {
            self.nodes
        } else {
            0
        }
    }
}

/// The supervisor may run in another working directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
