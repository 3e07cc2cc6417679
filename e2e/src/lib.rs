//! What tests that need a lab share: one [`Cluster`], one [`Machine`], one [`Manager`], one
//! registry fixture.
//!
//! A suite is one test program (`e2e/tests/NAME`). It brings its lab up once, when the first test
//! asks for it, and every test gets it for itself through a guard: `testkit::control_plane()`,
//! `testkit::machine()`, `testkit::nodes()`. When the guard is dropped it compares the lab with
//! what the test found there, and fails a test that left something behind. A test that cannot
//! share asks for a lab of its own (`Cluster::fresh`). The labs end with the test program.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and reports on standard output"
)]

pub mod alert_rules;
mod api_client;
mod api_counters;
pub mod bench;
pub mod cluster;
pub mod containerd;
pub mod key_signer;
pub mod kwok;
pub mod lab_process;
pub mod machine;
pub mod manager;
pub mod node_agent;
pub mod node_cluster;
pub mod nodes;
pub mod podman;
pub mod port_forward;
pub mod program;
pub mod registries;
pub mod schema;
pub mod seed;
pub mod shared;
pub mod signature_cases;
pub mod silent_network;
pub mod tcp_proxy;
pub mod wait;

pub use cluster::Cluster;
pub use key_signer::KeySigner;
pub use kwok::KwokNodes;
pub use machine::{Machine, machine};
pub use manager::Manager;
pub use node_cluster::NodeCluster;
pub use nodes::{SharedNodes, nodes};
pub use port_forward::PortForward;
pub use registries::{Registries, registries};
pub use shared::{Shared, control_plane};
pub use tcp_proxy::TcpProxy;
pub use wait::{eventually, eventually_or};
