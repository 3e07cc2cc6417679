//! `schedctl detach`: makes the kernel detach its scheduler, like SysRq-S.

use anyhow::{Context, bail};
use schedkit_core::OpsName;
use schedkit_host::{Fact, HostRoot, KernelSchedExt, SchedExtState};
use tokio::time::timeout;

use crate::confirmation::ask;
use crate::exit::Exit;
use crate::kernel::{DETACH_TIMEOUT, KernelMonitor};
use crate::output::{Printer, stop::DetachResult};
use crate::request::Consent;

pub(super) async fn detach(
    consent: Consent,
    root: &HostRoot,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let kernel = KernelMonitor::new(root.clone());
    let Some(ops) = attached(&kernel.read()) else {
        printer.print(&DetachResult::nothing_attached())?;
        return Ok(Exit::Ok);
    };
    if consent == Consent::Ask && !ask(&format!("Make the kernel detach {ops}?")).await? {
        bail!("nothing was done: use --force to detach {ops} without confirmation");
    }
    kernel.force_detach().context(
        "cannot write to /proc/sysrq-trigger: this needs root, and a system where the file is \
         writable",
    )?;
    if timeout(DETACH_TIMEOUT, kernel.wait_disabled())
        .await
        .is_err()
    {
        bail!(
            "the kernel still has a scheduler attached: it may have been attached again meanwhile, see `schedctl status`"
        );
    }
    printer.print(&DetachResult::detached(&ops))?;
    Ok(Exit::Ok)
}

/// What is attached, or being attached or detached; `None` only if certainly nothing is.
fn attached(kernel: &Fact<KernelSchedExt>) -> Option<String> {
    let kernel = match kernel {
        Fact::Absent => return None,
        Fact::Known(kernel) if kernel.state == Fact::Known(SchedExtState::Disabled) => return None,
        other => other.known(),
    };
    let ops = kernel.and_then(|kernel| kernel.ops.known());
    Some(ops.map_or_else(|| "its scheduler".to_owned(), OpsName::to_string))
}
