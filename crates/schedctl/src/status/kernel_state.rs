//! The part of the kernel's state that decides the status.

use schedkit_core::OpsName;
use schedkit_host::{Fact, KernelSchedExt, SchedExtState};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum KernelState<'a> {
    Unsupported,
    Disabled,
    InTransition(&'a SchedExtState),
    /// A scheduler is attached; the kernel may show no name.
    Enabled(Option<&'a OpsName>),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot determine what the kernel runs: {0}")]
pub(crate) struct UnknownKernelState(String);

impl<'a> KernelState<'a> {
    pub(super) fn of(fact: &'a Fact<KernelSchedExt>) -> Result<Self, UnknownKernelState> {
        let unknown = |path: &str, trouble: Option<String>| {
            UnknownKernelState(format!("{path} {}", trouble.unwrap_or_default()))
        };
        let kernel = match fact {
            Fact::Known(kernel) => kernel,
            Fact::Absent => return Ok(Self::Unsupported),
            other => return Err(unknown("/sys/kernel/sched_ext", other.problem())),
        };
        match &kernel.state {
            Fact::Known(SchedExtState::Disabled) => Ok(Self::Disabled),
            Fact::Known(SchedExtState::Enabled) => Ok(Self::Enabled(kernel.ops.known())),
            Fact::Known(state @ SchedExtState::Unknown(name)) if !state.is_transitional() => {
                Err(UnknownKernelState(format!(
                    "its state is {name:?}, which this schedctl does not know"
                )))
            }
            Fact::Known(state) => Ok(Self::InTransition(state)),
            other => Err(unknown("/sys/kernel/sched_ext/state", other.problem())),
        }
    }
}
