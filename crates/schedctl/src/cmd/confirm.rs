//! `schedctl confirm`: keeps the scheduler that is on trial, if the kernel runs it.

use std::time::Duration;

use anyhow::{bail, ensure};
use schedkit_host::HostRoot;
use schedkit_runtime::{After, Driver};

use crate::drivers::open;
use crate::error_text;
use crate::exit::Exit;
use crate::observe::{ObserveError, Reachable, observe_reachable};
use crate::output::{Printer, stop::ConfirmResult};
use crate::settings::Settings;
use crate::state_dir::StateDir;
use crate::status::Status;
use crate::steps::take_lock::take_lock;
use crate::trial::Trial;

const GRACE: Duration = Duration::from_secs(10);

pub(super) async fn confirm(
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    let runtimes = settings.runtimes();
    let _lock = take_lock(&state).await?;
    let Reachable {
        observed, unread, ..
    } = observe_reachable(root, &state, &runtimes).await?;
    let Some(trial) = &observed.trial else {
        bail!("no scheduler is on trial: its time may be up, see `schedctl status`");
    };
    // Otherwise the old container would be removed while the new scheduler does not work.
    let assessment = observed.assess()?;
    let subject = assessment.container;
    let is_candidate = subject.is_some_and(|one| one.container.id == trial.candidate);
    let is_running = assessment.status == Status::Running && is_candidate;
    if let (false, Some(error)) = (is_running, unread.into_iter().next()) {
        return Err(ObserveError::from(error).into());
    }
    ensure!(
        is_running,
        "the kernel does not run {}, which is on trial: see `schedctl status`",
        trial.scheduler
    );
    // The guard reads the file under the same lock, and exits.
    Trial::delete(&state)?;
    if let Some(old) = &trial.before {
        let driver = open(runtimes.endpoint(trial.runtime), &settings.registry);
        if let Err(error) = driver.end(old, GRACE, After::Remove).await {
            let error = error_text::one_line(&error);
            printer.warn(format!("the old container is left over: {error}"));
        }
    }
    printer.print(&ConfirmResult::from(trial))?;
    Ok(Exit::Ok)
}
