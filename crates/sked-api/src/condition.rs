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
    /// Some nodes belong to another SchedExt.
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
    /// The scheduler ended on a node: the message has its last words, in the kernel's terms where
    /// they tell a reason.
    SchedulerEnded,
    /// A node could not start the scheduler's container.
    ContainerError,
    /// A node refused or evicted the pod.
    PodFailed,
    /// A pod waits for room on its node, or for another scheduler to leave it.
    PodPending,
    /// A DaemonSet waits until contested nodes say who owns them.
    WaitingForClaims,
    /// A DaemonSet of a name that is needed is being deleted.
    WaitingForDeletion,
    /// Nodes are on their way to what the spec says.
    RollingOut,
    /// Another SchedExt has nodes that this one asks for: by priority, or because it was there
    /// first.
    OwnedByOther,
    /// No node is meant.
    NoNodes,
    /// Nobody on the nodes reports what the kernel says.
    NoKernelReport,
    /// Every node has what the spec says.
    UpToDate,
    /// Nothing is wrong.
    AsExpected,
    /// Nobody else has a node that this one asks for.
    NoConflict,
}

impl Reason {
    /// All of them, in their order.
    pub const ALL: [Self; 21] = [
        Self::InvalidSpec,
        Self::NamespaceTerminating,
        Self::NameConflict,
        Self::NotAllowed,
        Self::QuotaExceeded,
        Self::ApplyFailed,
        Self::PodsRefused,
        Self::ImageError,
        Self::SchedulerEnded,
        Self::ContainerError,
        Self::PodFailed,
        Self::PodPending,
        Self::WaitingForClaims,
        Self::WaitingForDeletion,
        Self::RollingOut,
        Self::OwnedByOther,
        Self::NoNodes,
        Self::NoKernelReport,
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
            Self::SchedulerEnded => "SchedulerEnded",
            Self::ContainerError => "ContainerError",
            Self::PodFailed => "PodFailed",
            Self::PodPending => "PodPending",
            Self::WaitingForClaims => "WaitingForClaims",
            Self::WaitingForDeletion => "WaitingForDeletion",
            Self::RollingOut => "RollingOut",
            Self::OwnedByOther => "OwnedByOther",
            Self::NoNodes => "NoNodes",
            Self::NoKernelReport => "NoKernelReport",
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
