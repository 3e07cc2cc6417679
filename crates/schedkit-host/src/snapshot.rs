//! All that is known about a machine at one moment, as plain data.
//!
//! `schedctl doctor` and `run` read one and hand it to [`crate::preflight`]; tests build one from
//! a folder. Reading never fails as a whole.

use serde::Serialize;

use crate::architecture::Architecture;
use crate::btf::Btf;
use crate::capabilities::Capabilities;
use crate::command_line::CommandLine;
use crate::fact::Fact;
use crate::kconfig::KernelConfig;
use crate::kernel::Kernel;
use crate::lockdown::Lockdown;
use crate::rivals::{self, Rival};
use crate::root::HostRoot;
use crate::sched_ext::SchedExt;

/// A machine at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSnapshot {
    /// Which kernel runs.
    pub kernel: Kernel,
    /// On what kind of machine.
    pub architecture: Fact<Architecture>,
    /// How it was built.
    pub config: Fact<KernelConfig>,
    /// How it was started.
    pub command_line: Fact<CommandLine>,
    /// Whether it describes its types.
    pub btf: Fact<Btf>,
    /// How far it is locked down.
    pub lockdown: Fact<Lockdown>,
    /// What it says about schedulers.
    pub sched_ext: Fact<SchedExt>,
    /// What this process may do.
    pub capabilities: Fact<Capabilities>,
    /// Who else starts schedulers.
    pub rivals: Vec<Rival>,
}

impl HostSnapshot {
    /// Reads everything once.
    pub fn read(root: &HostRoot) -> Self {
        let kernel = Kernel::read(root);
        Self {
            architecture: Architecture::read(root),
            config: KernelConfig::read(root, kernel.release.known()),
            command_line: CommandLine::read(root),
            btf: Btf::read(root),
            lockdown: Lockdown::read(root),
            sched_ext: SchedExt::read(root),
            capabilities: Capabilities::read(root),
            rivals: rivals::read(root),
            kernel,
        }
    }
}
