//! Condition types and reasons with their meanings. Alerts and scripts rely on the names;
//! `docs/crd.md` lists all of them with the same texts.

/// The type of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    Ready,
    Progressing,
    Degraded,
    Conflicted,
    Verified,
}

impl ConditionType {
    /// In the order in which a status has them.
    pub const ALL: [Self; 5] = [
        Self::Ready,
        Self::Progressing,
        Self::Degraded,
        Self::Conflicted,
        Self::Verified,
    ];

    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
            Self::Degraded => "Degraded",
            Self::Conflicted => "Conflicted",
            Self::Verified => "Verified",
        }
    }

    /// What it means that the condition is true.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ready => {
                "The kernel of every node that the SchedExt owns runs the scheduler. It is computed \
                 from the other conditions and from the kernels, and is Unknown while a kernel is."
            }
            Self::Progressing => "A change is being rolled out to the nodes.",
            Self::Degraded => "Something is wrong that does not resolve itself.",
            Self::Conflicted => {
                "Some selected nodes belong to another SchedExt, or run a foreign scheduler."
            }
            Self::Verified => {
                "Every image that the spec names is signed by someone whom the trust policy accepts. \
                 Only with --trust-policy."
            }
        }
    }
}

/// The reason of a condition, or of a problem on a node. The order is that of importance: of several
/// reasons that apply, a condition has the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    InvalidSpec,
    ImageRefused,
    NamespaceTerminating,
    NameConflict,
    NotAllowed,
    QuotaExceeded,
    ApplyFailed,
    CheckFailed,
    PodsRefused,
    RevisionFailed,
    RolledBack,
    ImageError,
    Ejected,
    SchedulerEnded,
    Detached,
    NotAttached,
    ContainerError,
    PodFailed,
    InvalidRequest,
    Quarantined,
    PolicyViolated,
    PolicyNotEnforced,
    PodPending,
    KernelIncomplete,
    KernelTooOld,
    ArchitectureMissing,
    NoEntrypoint,
    CannotVerify,
    PolicyUnreadable,
    Verifying,
    WaitingForClaims,
    WaitingForDeletion,
    RolloutPaused,
    FleetUnhealthy,
    RolloutBlocked,
    Canary,
    RollingOut,
    ForeignScheduler,
    OwnedByOther,
    UnsupportedKernel,
    NoNodes,
    NoKernelReport,
    Attached,
    UpToDate,
    AsExpected,
    Verified,
    NoConflict,
}

impl Reason {
    /// In the order of importance.
    pub const ALL: [Self; 47] = [
        Self::InvalidSpec,
        Self::ImageRefused,
        Self::NamespaceTerminating,
        Self::NameConflict,
        Self::NotAllowed,
        Self::QuotaExceeded,
        Self::ApplyFailed,
        Self::CheckFailed,
        Self::PodsRefused,
        Self::RevisionFailed,
        Self::RolledBack,
        Self::ImageError,
        Self::Ejected,
        Self::SchedulerEnded,
        Self::Detached,
        Self::NotAttached,
        Self::ContainerError,
        Self::PodFailed,
        Self::InvalidRequest,
        Self::Quarantined,
        Self::PolicyViolated,
        Self::PolicyNotEnforced,
        Self::PodPending,
        Self::KernelIncomplete,
        Self::KernelTooOld,
        Self::ArchitectureMissing,
        Self::NoEntrypoint,
        Self::CannotVerify,
        Self::PolicyUnreadable,
        Self::Verifying,
        Self::WaitingForClaims,
        Self::WaitingForDeletion,
        Self::RolloutPaused,
        Self::FleetUnhealthy,
        Self::RolloutBlocked,
        Self::Canary,
        Self::RollingOut,
        Self::ForeignScheduler,
        Self::OwnedByOther,
        Self::UnsupportedKernel,
        Self::NoNodes,
        Self::NoKernelReport,
        Self::Attached,
        Self::UpToDate,
        Self::AsExpected,
        Self::Verified,
        Self::NoConflict,
    ];

    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSpec => "InvalidSpec",
            Self::ImageRefused => "ImageRefused",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::NameConflict => "NameConflict",
            Self::NotAllowed => "NotAllowed",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::ApplyFailed => "ApplyFailed",
            Self::CheckFailed => "CheckFailed",
            Self::PodsRefused => "PodsRefused",
            Self::RevisionFailed => "RevisionFailed",
            Self::RolledBack => "RolledBack",
            Self::ImageError => "ImageError",
            Self::Ejected => "Ejected",
            Self::SchedulerEnded => "SchedulerEnded",
            Self::Detached => "Detached",
            Self::NotAttached => "NotAttached",
            Self::ContainerError => "ContainerError",
            Self::PodFailed => "PodFailed",
            Self::InvalidRequest => "InvalidRequest",
            Self::Quarantined => "Quarantined",
            Self::PolicyViolated => "PolicyViolated",
            Self::PolicyNotEnforced => "PolicyNotEnforced",
            Self::PodPending => "PodPending",
            Self::KernelIncomplete => "KernelIncomplete",
            Self::KernelTooOld => "KernelTooOld",
            Self::ArchitectureMissing => "ArchitectureMissing",
            Self::NoEntrypoint => "NoEntrypoint",
            Self::CannotVerify => "CannotVerify",
            Self::PolicyUnreadable => "PolicyUnreadable",
            Self::Verifying => "Verifying",
            Self::WaitingForClaims => "WaitingForClaims",
            Self::WaitingForDeletion => "WaitingForDeletion",
            Self::RolloutPaused => "RolloutPaused",
            Self::FleetUnhealthy => "FleetUnhealthy",
            Self::RolloutBlocked => "RolloutBlocked",
            Self::Canary => "Canary",
            Self::RollingOut => "RollingOut",
            Self::ForeignScheduler => "ForeignScheduler",
            Self::OwnedByOther => "OwnedByOther",
            Self::UnsupportedKernel => "UnsupportedKernel",
            Self::NoNodes => "NoNodes",
            Self::NoKernelReport => "NoKernelReport",
            Self::Attached => "Attached",
            Self::UpToDate => "UpToDate",
            Self::AsExpected => "AsExpected",
            Self::Verified => "Verified",
            Self::NoConflict => "NoConflict",
        }
    }

    /// A sentence for the documentation.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::InvalidSpec => {
                "The spec asks for something impossible: the API server rejects the DaemonSet, or \
                 the spec could not be parsed. Correct the spec."
            }
            Self::ImageRefused => {
                "No signature of an image that the spec names is accepted by the trust policy. It is \
                 not rolled out, and what runs goes on. Sign the image, name another one, or change \
                 the policy."
            }
            Self::NamespaceTerminating => {
                "The namespace is being deleted, so nothing can be created in it. The SchedExt is \
                 deleted with it."
            }
            Self::NameConflict => {
                "Another object has the name of a DaemonSet that is needed. Rename one of the \
                 two."
            }
            Self::NotAllowed => {
                "sked may not write the DaemonSet: its role or a policy of the cluster forbids \
                 it."
            }
            Self::QuotaExceeded => "The quota of the namespace is exhausted. Raise it.",
            Self::ApplyFailed => {
                "The API server did not accept a write, for now. sked tries again."
            }
            Self::CheckFailed => {
                "sked's own check rejected what it was about to do, which is a bug in sked. The \
                 SchedExt is left as it is; others are not affected."
            }
            Self::PodsRefused => {
                "The cluster rejects the scheduler's pods, usually because of Pod Security or a \
                 quota: the namespace must permit privileged pods."
            }
            Self::ImageError => "A node cannot pull the image.",
            Self::Ejected => {
                "A node's kernel ejected the scheduler: because of a stall or an error, or \
                 because somebody pressed SysRq-S. `problems` has the kind of exit, the message \
                 has the kernel's text."
            }
            Self::SchedulerEnded => {
                "The scheduler ended on a node, or could not be loaded. The message has its final \
                 output, and the kernel's exit reason if there is one."
            }
            Self::Detached => {
                "A node's kernel does not run the scheduler any more, although its process still \
                 runs. The cause is reported when the process exits."
            }
            Self::NotAttached => {
                "The scheduler has run on a node for a minute, and the kernel has not attached \
                 it."
            }
            Self::ContainerError => "A node could not start the scheduler's container.",
            Self::PodFailed => "A node rejected or evicted the pod.",
            Self::PolicyViolated => {
                "An image that runs was accepted before, and the trust policy refuses it by now. With \
                 --enforce-running it is taken off the nodes, else it goes on."
            }
            Self::PolicyNotEnforced => {
                "An admission policy of sked's does not restrict sked's own account: it is missing, \
                 or the account was renamed. `Ready` does not depend on it."
            }
            Self::PodPending => {
                "A pod waits for resources on its node, or for another scheduler to leave it."
            }
            Self::KernelIncomplete => {
                "A node's kernel lacks something without which no scheduler can be loaded, such as \
                 BTF, and does not run the scheduler (yet). The node is not excluded."
            }
            Self::KernelTooOld => {
                "A node's kernel is older than the image's label \
                 `org.schedkit.scheduler.kernel.min-version`, and does not run the scheduler \
                 (yet). Only a manager with `--read-images` or `--trust-policy` reports it; the node \
                 is not excluded."
            }
            Self::ArchitectureMissing => {
                "The image has nothing for a node's architecture, so a pod cannot start there. Only a \
                 manager with `--read-images` or `--trust-policy` reports it; the node is not \
                 excluded."
            }
            Self::NoEntrypoint => {
                "An image names no program to start, so no pod of it can start. Only a manager with \
                 `--read-images` or `--trust-policy` reports it."
            }
            Self::CannotVerify => {
                "A registry cannot be read, or has lost a signature that was accepted, so nobody can \
                 tell whether an image is signed. What runs goes on; sked tries again."
            }
            Self::PolicyUnreadable => {
                "The trust policy cannot be read. The last one that could goes on deciding; without \
                 one nothing new is rolled out."
            }
            Self::Verifying => "An image is being verified for the first time.",
            Self::WaitingForClaims => {
                "A DaemonSet waits until contested nodes are labelled with their owner."
            }
            Self::WaitingForDeletion => "A DaemonSet whose name is needed is being deleted.",
            Self::RollingOut => "Some nodes do not have what the spec says yet.",
            Self::ForeignScheduler => {
                "A selected node runs a scheduler that sked did not start. sked does not stop it, \
                 and uses the node again when it has ended."
            }
            Self::OwnedByOther => {
                "Another SchedExt owns selected nodes: it has a higher priority, or was there \
                 first."
            }
            Self::UnsupportedKernel => {
                "The kernel of a selected node has no sched_ext: the node is excluded."
            }
            Self::Quarantined => {
                "The scheduler failed on a node, which therefore runs the kernel's own one; or a node \
                 has the label `sked.schedkit.io/owner=quarantined`. A new revision, or the \
                 request `release NODE`, ends the first; whoever set the label, the second."
            }
            Self::RevisionFailed => {
                "The revision failed and no further node gets it: there is none to go back to, or \
                 `spec.onFailure.action` says so. `rejected` says why. Change the spec, or send \
                 the request `retry`."
            }
            Self::RolledBack => {
                "The revision failed, and the nodes have the last good one, or none if there is none. \
                 `rejected` says why. Change the spec, or send the request `retry`."
            }
            Self::InvalidRequest => {
                "The annotation `sked.schedkit.io/request` asks for nothing that sked knows, or for \
                 something that is impossible now. Nothing was changed."
            }
            Self::RolloutPaused => {
                "The roll-out stands still, because `spec.rollout.paused` is set."
            }
            Self::FleetUnhealthy => {
                "More nodes are without their scheduler than `maxUnavailable` allows, so the roll-out \
                 does not begin: the DaemonSet controller would replace all of them at once. Mend \
                 them, or send the request `force`."
            }
            Self::RolloutBlocked => {
                "A roll-out cannot go on because of the nodes that `problems` has."
            }
            Self::Canary => "The new revision runs on the canary's nodes only.",
            Self::NoNodes => "The SchedExt selects no node.",
            Self::NoKernelReport => {
                "The state of a node's kernel is unknown: no agent reports it, or its report may \
                 be outdated."
            }
            Self::Attached => "The kernel of every owned node runs the scheduler.",
            Self::UpToDate => "Every node has what the spec says.",
            Self::AsExpected => "Nothing is wrong.",
            Self::Verified => "The trust policy accepts every image that the spec names.",
            Self::NoConflict => {
                "No selected node belongs to another SchedExt or runs a foreign scheduler."
            }
        }
    }

    /// Whether it is wrong and does not resolve itself.
    pub fn is_degraded(self) -> bool {
        self <= Self::PolicyNotEnforced
    }

    /// Whether nothing is rolled out, and the SchedExt is not ready, because of it. A policy that is
    /// not enforced stops no scheduler, nor does a mistake in a request; a quarantined node is not
    /// among those that should run the scheduler.
    pub fn blocks(self) -> bool {
        let stops_nothing = [
            Self::InvalidRequest,
            Self::Quarantined,
            Self::PolicyViolated,
            Self::PolicyNotEnforced,
        ];
        self.is_degraded() && !stops_nothing.contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_reasons_are_listed_in_order_and_have_a_meaning() {
        assert!(Reason::ALL.is_sorted());
        assert_eq!(Reason::ALL.last(), Some(&Reason::NoConflict));
        for reason in Reason::ALL {
            assert_eq!(format!("{reason:?}"), reason.as_str());
            assert!(reason.meaning().ends_with('.'), "{reason:?}");
        }
    }
}
