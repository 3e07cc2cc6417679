//! The pure heart of sked: what was observed in, what should be done out.
//!
//! ```text
//! report, agent ─kernel▶ Kernel ─┬─ + pod ─node_state▶ NodeState ─▶ readiness gate, counts
//!                               └─ + pods ─standing▶ Standing: may anything of ours run there
//!
//! Fleet ─claim▶ Claims ─┬▶ label writes            (who owns which node: over all SchedExts)
//!                       │
//! Observed (one SchedExt, with its share of the claims) ─plan▶ Plan ─status▶ SchedExtStatus
//! ```
//!
//! Nothing here can talk to a cluster: there is no client to import. `now` is part of what was
//! observed. [`check`] judges what the others decided, by rules of its own.

pub mod check;
pub mod claim;
pub mod daemonset;
#[cfg(test)]
mod fixture;
mod floor;
pub mod kernel;
pub mod name;
pub mod names;
pub mod node_state;
pub mod observed;
pub mod part;
pub mod placement;
pub mod plan;
pub mod shape;
pub mod standing;
pub mod status;

pub use name::{NodeName, ObjectKey, OwnerId, Uid};
pub use observed::{Fleet, LiveDaemonSet, LivePod, Node, Observed};
