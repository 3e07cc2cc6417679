//! The node agent as a process: files in a folder take the place of sysfs, and the token is one that the API
//! server made for a pod on that node, so that RBAC and the admission policy limit the agent as they
//! do in a cluster.
//!
//! kwok takes the place of kubelets and nobody sends the kernel's events: that the agent notices what a real
//! kernel does is tested on real nodes.

mod bad_input;
mod outage;
mod own_report;
mod probes_and_metrics;
mod rate_limit;
