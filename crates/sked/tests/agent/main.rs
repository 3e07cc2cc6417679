//! The node agent as a process, on a real API server: a folder plays the machine, and the token is
//! one that the API server made for a pod on that node, so that RBAC and the admission policy hold
//! the agent as they hold it in a cluster.
//!
//! kwok plays the kubelets and nobody plays the kernel's events: that a real kernel is heard is
//! proved elsewhere, in virtual machines.

#![cfg(test)]

mod bad_input;
#[path = "../door.rs"]
mod door;
mod ground;
mod open_to_others;
mod outage;
mod own_report;
mod pace;
mod reborn_node;
#[path = "../support.rs"]
mod support;
