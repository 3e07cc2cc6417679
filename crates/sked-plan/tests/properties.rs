//! What holds whatever SchedExts, nodes and DaemonSets there are, and in whatever order things
//! happen. The cluster is made up (`properties/cluster.rs`); that it behaves like a real one is
//! for the tests of the manager against a real control plane to show.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

#[path = "properties/cluster.rs"]
mod cluster;
#[path = "properties/filled_in.rs"]
mod filled_in;
#[path = "properties/generate.rs"]
mod generate;
#[path = "properties/kube.rs"]
mod kube;
#[path = "properties/laws.rs"]
mod laws;
#[path = "properties/scale.rs"]
mod scale;
#[path = "properties/unrest.rs"]
mod unrest;
