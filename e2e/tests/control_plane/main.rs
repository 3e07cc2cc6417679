//! Tests on one shared control plane: a real API server, controller manager and scheduler, with
//! everything of `config/default` applied. kwok takes the place of kubelets; managers and node agents run as
//! processes of this machine.
//!
//! Green does not prove that a scheduler runs anywhere: no kernel is behind any of these nodes.

#![cfg(test)]

mod admission;
mod api_trouble;
mod daemonsets;
mod kernel_reports;
mod kubernetes;
mod metrics;
mod node_agent;
mod ownership;
mod plugin;
mod rollouts;
mod verification;
