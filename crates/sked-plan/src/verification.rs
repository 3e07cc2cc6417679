//! Which images of a SchedExt may run, when the manager has a trust policy.
//!
//! ```text
//!  spec ─┐                                   verdicts of the verifier ─┐
//!        ├─runnable▶ what runs (by digest)         spec, accepted ─────┴─judge▶ status.accepted
//!        │              │                                                          │
//!        │              └─▶ claims, plan, check, roll-outs                         │
//!        └── status.accepted ◀─────────────────────────────────────────────────────┘
//! ```
//!
//! As with roll-outs, a verdict takes effect only once the status records it: what may run is computed
//! from the SchedExt alone. So a manager that starts without its registries goes on with what was
//! accepted, and two readers of one SchedExt cannot disagree.
//!
//! A spec is accepted as a whole: image and arguments belong together. Until every image of a newer
//! spec is accepted, the last one whose images were runs on.

mod image;
mod judge;
mod known;
mod recorded;
mod runnable;

pub(crate) use image::images_in;
pub use image::{images, is_pinned};
pub(crate) use judge::{Judged, judge};
pub(crate) use known::Standing;
pub use known::{Known, PolicyState, Verdict, Verification};
pub use recorded::{as_recorded, assume_accepted, references, unaccepted, was_on};
pub use runnable::{runnable, what_runs};

#[cfg(test)]
mod tests;
