//! What the manager does when the cluster around it says no, takes things away or is not there:
//! pods refused, a namespace that is being deleted, nodes that vanish, names as long as they may
//! be, an API server that is away, rights that are missing. Each time: it is said what and what to
//! do, nobody else is disturbed, nothing is tried without a pause, and it goes on when it can.
//!
//! On a real API server, controller manager and scheduler; kwok plays the kubelets, so green does
//! not prove that a scheduler runs anywhere.

#![cfg(test)]

mod api_server_away;
#[path = "../door.rs"]
mod door;
mod ground;
mod long_names;
mod namespace_terminating;
mod nodes_vanish;
mod pods_refused;
mod rights_missing;
#[path = "../support.rs"]
mod support;
