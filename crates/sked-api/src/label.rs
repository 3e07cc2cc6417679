//! The labels and names that others rely on.

/// On DaemonSets and their pods: the operator made it.
pub const MANAGED_BY: (&str, &str) = ("managed-by", "sked-controller");
/// On pods, and what a DaemonSet selects by: the DaemonSet's name.
pub const NAME: &str = "name";
/// On pods: this one wants to be the kernel's scheduler. The safety net's anti-affinity goes by it.
pub const ROOT_SCHEDULER: (&str, &str) = ("sked.schedkit.io/root-scheduler", "true");
/// On nodes: who may run a scheduler there.
pub const OWNER: &str = "sked.schedkit.io/owner";
/// The scheduler's container.
pub const CONTAINER: &str = "scx";
/// What [`OWNER`] says of a node where no scheduler of ours may run: its kernel has no sched_ext,
/// somebody else's scheduler is attached, or ours was taken off after failures.
pub const RESERVED: [&str; 3] = ["unsupported", "foreign", "quarantined"];

/// Of a scheduler's pod, and its readiness gate: the node's kernel says that this scheduler runs.
pub const ATTACHED_GATE: &str = "sked.schedkit.io/Attached";
/// On the pods of the node agents: whose readiness tells whether a report can be believed.
pub const NODE_AGENT: (&str, &str) = ("app.kubernetes.io/component", "node-agent");
