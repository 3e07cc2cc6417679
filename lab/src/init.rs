//! Which program is the first process of a node.

use serde::{Deserialize, Serialize};

/// The doc comments of the variants are the help of `--init`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// The lab's own: boots quickest, and forgets its disk when its machine is stopped.
    #[default]
    Lab,
    /// systemd with containerd.service and podman.socket; keeps its disk until the lab ends. Only for
    /// the topology machine.
    Systemd,
}
