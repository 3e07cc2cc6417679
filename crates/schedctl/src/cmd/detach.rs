//! `schedctl detach --force`: makes the kernel let go, the way SysRq-S does. The last resort.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use schedkit_core::OpsName;
use schedkit_host::{Fact, HostRoot, SchedExt, SchedExtState};
use tokio::time::timeout;

use crate::exit::Exit;
use crate::kernel::Kernel;
use crate::output::Printer;
use crate::output::stopped::Detached;
use crate::request::Consent;

const LETTING_GO: Duration = Duration::from_secs(10);

pub(super) async fn detach(
    consent: Consent,
    root: &HostRoot,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let kernel = Kernel::of(root.clone());
    let Some(ops) = holder(&kernel.now()) else {
        printer.print(&Detached::nothing())?;
        return Ok(Exit::Ok);
    };
    if consent == Consent::ToBeAsked && !agrees(&format!("Make the kernel let go of {ops}?"))? {
        bail!("nothing was done: say --force to detach {ops} without being asked");
    }
    kernel.let_go().context(
        "cannot write to /proc/sysrq-trigger: only root may, and only where the machine's owner \
         lets it",
    )?;
    if timeout(LETTING_GO, kernel.released()).await.is_err() {
        bail!(
            "the kernel still holds a scheduler: a scheduler may have attached again meanwhile, see `schedctl status`"
        );
    }
    printer.print(&Detached::from_kernel(&ops))?;
    Ok(Exit::Ok)
}

/// What the kernel holds, or is about to take or let go of; nothing only when it surely has none.
fn holder(kernel: &Fact<SchedExt>) -> Option<String> {
    let kernel = match kernel {
        Fact::Absent => return None,
        Fact::Known(kernel) if kernel.state == Fact::Known(SchedExtState::Disabled) => return None,
        other => other.known(),
    };
    let ops = kernel.and_then(|kernel| kernel.ops.known());
    Some(ops.map_or_else(|| "its scheduler".to_owned(), OpsName::to_string))
}

/// Nobody is asked who cannot answer.
fn agrees(question: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
