//! Property tests of the planner: invariants that hold for every combination of SchedExts, nodes
//! and DaemonSets and for every order of events. The cluster is simulated (`cluster.rs`);
//! the manager's tests against a real control plane show that the simulation is right.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

mod cluster;
mod explained;
mod filled_in;
mod generate;
mod interleaving;
mod kube;
mod laws;
mod model;
mod rollouts;
mod scale;
