//! The planner of sked, without I/O: observed state in, decisions out.
//!
//! ```text
//! report, agent ─kernel_state▶ KernelState ─┬─ + pod  ─node_state▶  NodeState ─▶ readiness gate, counts
//!                                           └─ + pods ─eligibility▶ Eligibility of the node
//!                                                                     │ debounce
//! Fleet ◀─────────────────────────────────────────────────────────────┘
//!   └─claim▶ Claims ─┬▶ label writes            (all SchedExts: which node has which owner)
//!                    │
//! Observed (one SchedExt, with its assignment) ─plan▶ Plan ─status▶ SchedExtStatus
//!                                                        ▲              │
//!                                                        └── rollout ◀──┘ (which revision runs where)
//! ```
//!
//! This crate cannot import a Kubernetes client or an async runtime, and it reads no clock: the
//! time is part of the input. [`check`] verifies the decisions by rules of its own.

pub mod assignment;
pub mod check;
pub mod claim;
pub mod daemonset;
pub mod debounce;
pub mod eligibility;
mod exit_text;
pub mod fingerprint;
#[cfg(test)]
mod fixture;
pub mod image_facts;
pub mod kernel_state;
pub mod learned_names;
pub mod live_daemonset;
pub mod live_pod;
pub mod name;
pub mod node;
pub mod node_report;
pub mod node_state;
pub mod observed;
pub mod part;
pub(crate) mod placed_pods;
pub mod placement;
pub mod plan;
mod preflight;
pub mod revision;
pub mod rollout;
pub mod status;
pub mod verification;
pub mod version;

pub use live_daemonset::LiveDaemonSet;
pub use live_pod::LivePod;
pub use name::{NodeName, ObjectKey, OwnerId, Uid};
pub use node::Node;
pub use node_report::NodeReport;
pub use observed::{Fleet, Observed};
