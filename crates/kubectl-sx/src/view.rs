//! What commands show, as values: `output` prints them as text or as JSON. Times are points in time,
//! so that a value changes only when something changed.

pub(crate) mod explanation;
pub(crate) mod history;
pub(crate) mod message;
pub(crate) mod nodes;
pub(crate) mod plan;
pub(crate) mod rollout;
pub(crate) mod scheduler;
pub(crate) mod status;
