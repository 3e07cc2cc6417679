//! Steps that several commands share, a file each.

pub(crate) mod end_abandoned_trial;
pub(crate) mod find_container;
pub(crate) mod find_image;
pub(crate) mod follow;
pub(crate) mod preflight;
pub(crate) mod pull_image;
pub(crate) mod read_policy;
pub(crate) mod take_lock;
pub(crate) mod verify_image;
pub(crate) mod verify_running;
