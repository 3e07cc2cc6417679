//! Conditions and their reasons: few types, each reason documented.

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

/// Why a condition is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Nobody on the nodes reports what the kernel says.
    NoKernelReport,
    /// No node is meant.
    NoNodes,
}

impl Reason {
    /// As the API says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoKernelReport => "NoKernelReport",
            Self::NoNodes => "NoNodes",
        }
    }
}
