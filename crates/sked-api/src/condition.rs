//! Conditions and their reasons: few types, each reason documented.
//!
//! `docs/crd.md` repeats these words; alerts and scripts rely on them.

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// Every wanted node runs the scheduler, by its kernel's word. Computed from the others.
    Ready,
    /// A change is on its way to the nodes.
    Progressing,
    /// Something is wrong that does not mend itself.
    Degraded,
    /// Some nodes belong to another SchedExt, or run a scheduler of somebody else's.
    Conflicted,
}

impl ConditionType {
    /// As the API says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
            Self::Degraded => "Degraded",
            Self::Conflicted => "Conflicted",
        }
    }
}

/// Why a condition is as it is, or what is wrong on a node. The order is that of importance: of
/// several that are true, a condition names the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The spec asks for something that cannot be: the API server refuses the DaemonSet, or
    /// admission was passed by. Change the spec.
    InvalidSpec,
    /// The namespace is being deleted, so nothing can be made in it. The SchedExt goes with it.
    NamespaceTerminating,
    /// A DaemonSet that is needed has a name that somebody else's has. Rename one of the two.
    NameConflict,
    /// sked may not write the DaemonSet: its role, or a policy of the cluster, forbids it.
    NotAllowed,
    /// The namespace's quota leaves no room. Raise it.
    QuotaExceeded,
    /// The API server did not take a write, for now. It is tried again.
    ApplyFailed,
    /// The cluster refuses the scheduler's pods, mostly Pod Security or a quota: the namespace must
    /// allow privileged pods.
    PodsRefused,
    /// A node cannot get the image.
    ImageError,
    /// A node's kernel threw the scheduler out: for a stall, an error, or because somebody pressed
    /// SysRq-S. The problems name the kind, the message has the kernel's words.
    Ejected,
    /// The scheduler ended on a node, or could not be loaded: the message has its last words, in the
    /// kernel's terms where they tell a reason.
    SchedulerEnded,
    /// A node's kernel does not run the scheduler any more, although its process is still there. Why
    /// is told when the process ends.
    Detached,
    /// The scheduler has run on a node for a minute and its kernel has not attached it.
    NotAttached,
    /// A node could not start the scheduler's container.
    ContainerError,
    /// A node refused or evicted the pod.
    PodFailed,
    /// A pod waits for room on its node, or for another scheduler to leave it.
    PodPending,
    /// A node's kernel is older than what the image asks for in its label
    /// `org.schedkit.scheduler.kernel.min-version`, and does not run the scheduler (yet). Told only
    /// by a manager with `--read-images`; the node is not left out.
    KernelTooOld,
    /// A DaemonSet waits until contested nodes say who owns them.
    WaitingForClaims,
    /// A DaemonSet of a name that is needed is being deleted.
    WaitingForDeletion,
    /// Nodes are on their way to what the spec says.
    RollingOut,
    /// A node that it asks for runs a scheduler that sked did not start. It is left alone; the node
    /// comes back by itself when that one ends.
    ForeignScheduler,
    /// Another SchedExt has nodes that this one asks for: by priority, or because it was there
    /// first.
    OwnedByOther,
    /// The kernel of a node that it asks for has no sched_ext: the node is left out.
    UnsupportedKernel,
    /// A node that it asks for had a scheduler taken off after failures: the node is left out.
    Quarantined,
    /// No node is meant.
    NoNodes,
    /// What the kernel of a node says is not known: no agent reports it, or its report may be old.
    NoKernelReport,
    /// Every wanted node's kernel says that it runs the scheduler.
    Attached,
    /// Every node has what the spec says.
    UpToDate,
    /// Nothing is wrong.
    AsExpected,
    /// Nobody else has a node that this one asks for.
    NoConflict,
}

impl Reason {
    /// All of them, in their order.
    pub const ALL: [Self; 29] = [
        Self::InvalidSpec,
        Self::NamespaceTerminating,
        Self::NameConflict,
        Self::NotAllowed,
        Self::QuotaExceeded,
        Self::ApplyFailed,
        Self::PodsRefused,
        Self::ImageError,
        Self::Ejected,
        Self::SchedulerEnded,
        Self::Detached,
        Self::NotAttached,
        Self::ContainerError,
        Self::PodFailed,
        Self::PodPending,
        Self::KernelTooOld,
        Self::WaitingForClaims,
        Self::WaitingForDeletion,
        Self::RollingOut,
        Self::ForeignScheduler,
        Self::OwnedByOther,
        Self::UnsupportedKernel,
        Self::Quarantined,
        Self::NoNodes,
        Self::NoKernelReport,
        Self::Attached,
        Self::UpToDate,
        Self::AsExpected,
        Self::NoConflict,
    ];

    /// As the API says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSpec => "InvalidSpec",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::NameConflict => "NameConflict",
            Self::NotAllowed => "NotAllowed",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::ApplyFailed => "ApplyFailed",
            Self::PodsRefused => "PodsRefused",
            Self::ImageError => "ImageError",
            Self::Ejected => "Ejected",
            Self::SchedulerEnded => "SchedulerEnded",
            Self::Detached => "Detached",
            Self::NotAttached => "NotAttached",
            Self::ContainerError => "ContainerError",
            Self::PodFailed => "PodFailed",
            Self::PodPending => "PodPending",
            Self::KernelTooOld => "KernelTooOld",
            Self::WaitingForClaims => "WaitingForClaims",
            Self::WaitingForDeletion => "WaitingForDeletion",
            Self::RollingOut => "RollingOut",
            Self::ForeignScheduler => "ForeignScheduler",
            Self::OwnedByOther => "OwnedByOther",
            Self::UnsupportedKernel => "UnsupportedKernel",
            Self::Quarantined => "Quarantined",
            Self::NoNodes => "NoNodes",
            Self::NoKernelReport => "NoKernelReport",
            Self::Attached => "Attached",
            Self::UpToDate => "UpToDate",
            Self::AsExpected => "AsExpected",
            Self::NoConflict => "NoConflict",
        }
    }

    /// Whether it is wrong and does not mend itself.
    pub fn is_degraded(self) -> bool {
        self <= Self::PodFailed
    }
}
