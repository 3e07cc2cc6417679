//! A snapshot of the machine, as plain data.
//!
//! `schedctl doctor` and `run` read one and pass it to [`crate::preflight`]; tests read one from a
//! folder. Reading never fails as a whole.

use serde::Serialize;

use crate::architecture::Architecture;
use crate::btf::Btf;
use crate::capabilities::Capabilities;
use crate::command_line::CommandLine;
use crate::fact::Fact;
use crate::kconfig::KernelConfig;
use crate::kernel::KernelInfo;
use crate::lockdown::Lockdown;
use crate::other_managers::{self, OtherManager};
use crate::other_runtimes::{self, OtherRuntime};
use crate::root_folder::HostRoot;
use crate::sched_ext::KernelSchedExt;
use crate::tracefs::TraceMounts;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSnapshot {
    pub kernel: KernelInfo,
    pub architecture: Fact<Architecture>,
    pub config: Fact<KernelConfig>,
    pub command_line: Fact<CommandLine>,
    pub btf: Fact<Btf>,
    pub lockdown: Fact<Lockdown>,
    pub trace_mounts: Fact<TraceMounts>,
    pub sched_ext: Fact<KernelSchedExt>,
    /// Of this process.
    pub capabilities: Fact<Capabilities>,
    pub other_managers: Vec<OtherManager>,
    pub other_runtimes: Vec<OtherRuntime>,
}

impl HostSnapshot {
    pub fn read(root: &HostRoot) -> Self {
        let kernel = KernelInfo::read(root);
        Self {
            architecture: Architecture::read(root),
            config: KernelConfig::read(root, kernel.release.known()),
            command_line: CommandLine::read(root),
            btf: Btf::read(root),
            lockdown: Lockdown::read(root),
            trace_mounts: TraceMounts::read(root),
            sched_ext: KernelSchedExt::read(root),
            capabilities: Capabilities::read(root),
            other_managers: other_managers::read(root),
            other_runtimes: other_runtimes::read(root),
            kernel,
        }
    }
}
