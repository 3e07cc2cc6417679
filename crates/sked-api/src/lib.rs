//! The API of sked: the resource `SchedExt`, and `SchedExtNode`, in which node agents report the
//! state of their kernels.
//!
//! This crate has types only, so that a planner, a tool or a test can use them without a client.
//! Labels, condition types and reasons, on which other programs rely, are defined only here, and so
//! are the CRDs with their validation rules ([`crd`]).

pub mod condition;
pub mod crd;
pub mod env_var;
pub mod label;
pub mod node;
pub mod pool;
pub mod request;
pub mod rollout;
pub mod rollout_status;
pub mod schedext;
pub mod status;
pub mod verification;

pub use condition::{ConditionType, Reason};
pub use env_var::EnvVar;
pub use node::{SchedExtNode, SchedExtNodeSpec, SchedExtNodeStatus};
pub use pool::Pool;
pub use request::Request;
pub use rollout::{Canary, FailureAction, OnFailure, Rollout};
pub use rollout_status::{
    CanaryStatus, GoodRevision, NodeFailures, QuarantinedNode, RejectedRevision, RolloutPhase,
    RolloutStatus, SchedulerEnd,
};
pub use schedext::{NodeRules, PullPolicy, SchedExt, SchedExtSpec};
pub use status::{Counts, PoolStatus, Problem, SchedExtStatus};
pub use verification::{Accepted, AcceptedImage, VerificationState};
