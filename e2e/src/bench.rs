//! What the measurements in `e2e/benches` share: a control plane asked through kube's client, the
//! operator under measurement, emulated nodes and kernels with reports, time and memory of commands,
//! what keeps two schedulers off one node, and figures with their limits.

pub mod cluster;
pub mod command;
pub mod emulated_kernels;
pub mod emulated_nodes;
pub mod exclusion;
pub mod figures;
pub mod operator;
