//! One cluster of two nodes with kernels, kubelets and runtimes of their own, and sked on it as an
//! administrator deploys it. Every test gets the nodes for itself and leaves them without a
//! scheduler; see `testkit::nodes`.
//!
//! Proves nothing about scale or about an API server in trouble (see the suites on a control plane),
//! and only the common ways in which schedulers end: `long_kernel_state` has all of them.

#![cfg(test)]

mod install;
mod kernel_state;
mod lab_nodes;
mod metrics;
mod schedctl;
mod uninstall;
