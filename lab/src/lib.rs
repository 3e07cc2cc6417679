//! Real kernels and a real Kubernetes on one small machine.
//!
//! People use the command (`lab up`, `lab exec`, …); end-to-end tests use the library ([`Lab`]).
//! Both do the same: they write a [`LabSpec`], start a supervisor process with it, and end the
//! supervisor when they are done.
//!
//! Where to start reading: [`supervisor`] has the steps of a lab's start, [`parts`] the programs
//! and disks that a lab is built from.

pub mod cache;
pub mod command;
mod config_archive;
pub mod control_plane;
pub mod counters;
pub mod debian;
pub mod disk;
pub mod environment;
pub mod error_chain;
mod file_tree;
pub mod init;
pub mod kwok;
pub mod lockfile;
pub mod network;
pub mod node;
pub mod node_config;
pub mod oci;
pub mod operator;
pub mod parts;
pub mod pki;
pub mod preflight;
pub mod progress;
pub mod progress_bars;
pub mod registry;
pub mod request;
mod running;
pub mod schedctl_host;
pub mod service;
pub mod signing;
pub mod spec;
pub mod ssh;
pub mod startup;
pub mod state;
pub mod static_program;
pub mod supervisor;
mod systemd_config;
pub mod topology;
pub mod vm;

pub use error_chain::error_chain;
pub use init::Init;
pub use node::{CommandOutput, Daemon, Node, NodeError};
pub use progress::Event;
pub use progress_bars::ProgressBars;
pub use running::{Lab, LabError};
pub use schedctl_host::{SchedctlHost, SchedctlHostError};
pub use service::StopSignal;
pub use spec::{Goal, LabSpec, Scheduler, Signing};
pub use state::{RunningLab, State};
pub use topology::Topology;
