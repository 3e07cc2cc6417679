//! Ends a trial whose guard process cannot: it was killed or hangs. Called with the lock held by
//! commands that change what runs, before they observe.

use schedkit_host::HostRoot;

use crate::boot_time::since_boot;
use crate::drivers::open;
use crate::execute::Executor;
use crate::guard;
use crate::kernel::KernelMonitor;
use crate::output::Printer;
use crate::settings::Settings;
use crate::state_dir::{StateDir, StateError};
use crate::trial::{Stage, Trial};

pub(crate) async fn end_abandoned_trial(
    root: &HostRoot,
    state: &StateDir,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    forget_unreadable_trial(state, printer)?;
    let Some(trial) = Trial::read(state)? else {
        return Ok(());
    };
    // The process that starts a trial holds the lock, which this process holds now: it was killed.
    let interrupted = trial.stage == Stage::Starting;
    if !interrupted && !trial.is_abandoned(since_boot(), state.guard()?) {
        return Ok(());
    }
    let runtimes = settings.runtimes();
    let executor = Executor {
        driver: &open(runtimes.endpoint(trial.runtime), &settings.registry),
        runtime: trial.runtime,
        kernel: &KernelMonitor::new(root.clone()),
        state,
        start_guard: &|_| Ok(()),
    };
    let end = guard::end_trial(&executor, &trial).await?;
    // Whoever gave the command is told when going back did not work, and now decides what runs.
    Trial::delete(state)?;
    printer.warn(format!(
        "the trial of {} had been abandoned: {end}",
        trial.scheduler
    ));
    Ok(())
}

/// A file of another version of schedctl, which no guard heeds, would be warned of for ever.
pub(crate) fn forget_unreadable_trial(
    state: &StateDir,
    printer: &mut Printer,
) -> Result<(), StateError> {
    let Some(unreadable) = Trial::unreadable(state) else {
        return Ok(());
    };
    printer.warn(unreadable);
    Trial::delete(state)
}
