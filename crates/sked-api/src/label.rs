//! Labels and names that other programs rely on.

/// On DaemonSets and their pods: created by sked.
pub const MANAGED_BY: (&str, &str) = ("managed-by", "sked-controller");
/// On pods, and the selector of a DaemonSet: the DaemonSet's name.
pub const NAME: &str = "name";
/// On pods of schedulers. The anti-affinity of pods that were created before 0.1.0 selects by it.
pub const ROOT_SCHEDULER: (&str, &str) = ("sked.schedkit.io/root-scheduler", "true");
/// On nodes: the owner, or one of [`RESERVED`].
pub const OWNER: &str = "sked.schedkit.io/owner";
/// An annotation of DaemonSets: a time. A new one makes the DaemonSet controller process them again.
pub const TOUCHED_AT: &str = "sked.schedkit.io/touched-at";
/// An annotation of SchedExts: what a person asks of the roll-out; see [`crate::request`].
pub const REQUEST: &str = "sked.schedkit.io/request";
/// On pods: a hash of what their part of the SchedExt runs.
pub const REVISION: &str = "sked.schedkit.io/revision";
/// The scheduler's container.
pub const CONTAINER: &str = "scx";
/// The UDP port of the host that every scheduler's pod claims and none binds: only one pod of a node
/// can have it.
pub const EXCLUSION_PORT: i32 = 16180;
/// Values of [`OWNER`] on nodes where no scheduler of sked's may run: the kernel has no sched_ext, it
/// runs a foreign scheduler, or the node is quarantined. sked respects `quarantined`, which
/// somebody else sets; the quarantine of a SchedExt is in its status.
pub const RESERVED: [&str; 3] = ["unsupported", "foreign", "quarantined"];

/// The readiness gate of schedulers' pods, and its condition: the node's kernel runs this scheduler.
pub const ATTACHED_GATE: &str = "sked.schedkit.io/Attached";
/// On pods of node agents: a report is trusted only while its agent is ready.
pub const NODE_AGENT: (&str, &str) = ("app.kubernetes.io/component", "node-agent");
