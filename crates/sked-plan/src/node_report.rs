//! What a node agent reported about its node's kernel, as stored in a `SchedExtNode`.

use jiff::Timestamp;
use schedkit_core::OpsName;

use crate::name::Uid;

/// One report. [`crate::kernel_state`] decides whether it can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeReport {
    /// The Node in the report's owner reference.
    pub owner: Option<Uid>,
    /// The boot that the report is about.
    pub boot_id: Option<String>,
    /// Output of `uname -r`.
    pub release: Option<String>,
    /// Whether the kernel has sched_ext.
    pub supported: Option<bool>,
    /// Content of `/sys/kernel/sched_ext/state`.
    pub state: Option<String>,
    /// The attached scheduler.
    pub ops: Option<OpsName>,
    /// How often a scheduler was attached since boot.
    pub enable_seq: Option<i64>,
    /// Since when state, ops and enable_seq have been as they are.
    pub since: Option<Timestamp>,
    /// What the kernel lacks without which no scheduler can be loaded.
    pub kernel_gaps: Option<String>,
    /// Why a value is missing.
    pub trouble: Option<String>,
}
