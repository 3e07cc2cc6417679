//! Roll-outs in a simulated cluster: the real claims, plans, statuses and checks, with a DaemonSet
//! controller, kubelets and kernels that are simulated second by second.
//!
//! `scenarios`, `steered`, `trouble`, `corners` and `found` tell single stories, `explored` lets the
//! manager be killed between any two writes, work on old views, and lets nodes, rivals and users
//! interfere at random. What must never happen is checked after every second (`laws`).

mod corners;
mod daemonset_controller;
mod explored;
mod found;
mod kubelet;
mod laws;
mod manager;
mod scenarios;
mod steered;
mod trouble;
mod world;
