//! Which parts of a cluster a lab has.

use serde::{Deserialize, Serialize};

/// The doc comments of the variants are the help of `--topology`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// A control plane and nodes that have joined it.
    Cluster,
    /// A control plane without nodes: ready in seconds.
    ControlPlane,
    /// Nodes without Kubernetes: a kernel, podman and containerd.
    Machine,
    /// Two registries, without and with the referrers API: ready in seconds.
    Registry,
}

impl Topology {
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

    /// Whether the registry holds scheduler images.
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
