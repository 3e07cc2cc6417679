//! What is said to sked and what it says back: the resource `SchedExt`, and what the
//! nodes' kernels say: `SchedExtNode`.
//!
//! Types only, so that a planner, a tool or a test can hold one without a client. The words that
//! other programs rely on (labels, conditions, reasons) are here and nowhere else, and so is what
//! the API server refuses ([`crd`]).

pub mod condition;
pub mod crd;
pub mod label;
pub mod node;
pub mod pool;
pub mod schedext;
pub mod status;

pub use condition::{ConditionType, Reason};
pub use node::{SchedExtNode, SchedExtNodeSpec, SchedExtNodeStatus};
pub use pool::Pool;
pub use schedext::{EnvVar, NodeRules, PullPolicy, Rollout, SchedExt, SchedExtSpec};
pub use status::{Counts, PoolStatus, Problem, SchedExtStatus};
