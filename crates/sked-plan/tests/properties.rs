//! Property tests of the planner: invariants that hold for every combination of SchedExts, nodes
//! and DaemonSets and for every order of events. The cluster is simulated (`properties/cluster.rs`);
//! the manager's tests against a real control plane show that the simulation is right.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

#[path = "properties/cluster.rs"]
mod cluster;
#[path = "properties/filled_in.rs"]
mod filled_in;
#[path = "properties/generate.rs"]
mod generate;
#[path = "properties/interleaving.rs"]
mod interleaving;
#[path = "properties/kube.rs"]
mod kube;
#[path = "properties/laws.rs"]
mod laws;
#[path = "properties/scale.rs"]
mod scale;
