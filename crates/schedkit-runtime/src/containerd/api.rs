//! containerd's API, generated from `proto/`. Used only inside of the driver.

#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/containerd_api.rs"));
}

use generated::containerd;

pub(super) use containerd::runc::v1 as runc;
pub(super) use containerd::services::containers::v1 as containers;
pub(super) use containerd::services::content::v1 as content;
pub(super) use containerd::services::diff::v1 as diff;
pub(super) use containerd::services::images::v1 as images;
pub(super) use containerd::services::introspection::v1 as introspection;
pub(super) use containerd::services::leases::v1 as leases;
pub(super) use containerd::services::snapshots::v1 as snapshots;
pub(super) use containerd::services::tasks::v1 as tasks;
pub(super) use containerd::services::version::v1 as version;
pub(super) use containerd::types;
pub(super) use containerd::v1::types as task;
