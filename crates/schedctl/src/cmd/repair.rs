//! Ends a trial whose guard cannot: it was killed, hangs, or did not get to it yet. Called under
//! the lock by whoever changes what runs, before they look.

use jiff::Timestamp;

use schedkit_host::HostRoot;

use crate::drivers::open;
use crate::execute::Machine;
use crate::guard;
use crate::kernel::Kernel;
use crate::output::Printer;
use crate::request::Settings;
use crate::state_dir::StateDir;
use crate::trial::{Stage, Trial};

pub(super) async fn repair(
    root: &HostRoot,
    state: &StateDir,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let Some(trial) = Trial::read(state)? else {
        return Ok(());
    };
    // Whoever starts a trial holds the lock that we hold now.
    let cut_short = trial.stage == Stage::Starting;
    if !cut_short && !trial.is_forsaken(Timestamp::now(), state.guard()?) {
        return Ok(());
    }
    let machine = Machine {
        driver: &open(settings.runtimes.place(trial.runtime), &settings.registry),
        runtime: trial.runtime,
        kernel: &Kernel::of(root.clone()),
        state,
        stand_by: &|_| Ok(()),
    };
    let ending = guard::go_back(&machine, &trial).await?;
    let scheduler = &trial.scheduler;
    printer.warn(format!(
        "nobody had ended the trial of {scheduler}: {ending}"
    ));
    Ok(())
}
