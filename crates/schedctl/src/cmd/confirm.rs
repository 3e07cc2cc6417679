//! `schedctl confirm`: what is on trial stays, if the kernel runs it.

use std::time::Duration;

use anyhow::{bail, ensure};
use schedkit_host::HostRoot;
use schedkit_runtime::{After, Driver};

use crate::drivers::open;
use crate::exit::Exit;
use crate::observe::observe;
use crate::output::stopped::Confirmed;
use crate::output::{Printer, sentence};
use crate::request::Settings;
use crate::state_dir::StateDir;
use crate::status::{Status, judge};
use crate::trial::Trial;

const GRACE: Duration = Duration::from_secs(10);

pub(super) async fn confirm(
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    let _lock = state.lock().await?;
    let observed = observe(root, &state, &settings.runtimes).await?;
    let Some(trial) = &observed.trial else {
        bail!("no scheduler is on trial: its time may be up, see `schedctl status`");
    };
    // What the kernel does not run cannot stay, and its spare must not be given up for it.
    let judgement = judge(&observed.kernel, &observed.ours, &observed.holds, None)?;
    let runs = judgement.status == Status::Running
        && judgement
            .scheduler
            .is_some_and(|held| held.container.id == trial.candidate);
    ensure!(
        runs,
        "the kernel does not run {}, which is on trial: see `schedctl status`",
        trial.scheduler
    );
    // From here on the guard has nothing to do: it looks at the file, under the same lock.
    Trial::forget(&state)?;
    if let Some(spare) = &trial.before {
        let driver = open(settings.runtimes.place(trial.runtime), &settings.registry);
        if let Err(error) = driver.end(spare, GRACE, After::Remove).await {
            printer.warn(format!(
                "what ran before is left over: {}",
                sentence(&error)
            ));
        }
    }
    printer.print(&Confirmed::of(trial))?;
    Ok(Exit::Ok)
}
