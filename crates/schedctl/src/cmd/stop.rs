//! `schedctl stop`: stops a scheduler and removes its container, in either runtime.

use anyhow::{bail, ensure};
use schedkit_host::HostRoot;
use schedkit_runtime::{After, Driver};
use tokio::time::timeout;

use crate::container::RuntimeContainer;
use crate::drivers::open;
use crate::exit::Exit;
use crate::kernel::{Attachment, DETACH_TIMEOUT, KernelMonitor};
use crate::observe::{Observed, observe};
use crate::output::{Printer, stop::StopResult};
use crate::request::StopRequest;
use crate::runtimes::Runtimes;
use crate::settings::Settings;
use crate::state_dir::StateDir;
use crate::status::Status;
use crate::steps::end_abandoned_trial::end_abandoned_trial;
use crate::steps::find_container::{FindError, find};
use crate::trial::Trial;

pub(super) async fn stop(
    request: &StopRequest,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let (state, runtimes) = (StateDir::system(), settings.runtimes());
    let _lock = match request.dry_run {
        true => None,
        false => Some(state.lock().await?),
    };
    let mut observed = observe(root, &state, &runtimes).await?;
    // Stopping the candidate ends its trial: then there is nothing to restore first.
    if !request.dry_run && observed.trial.is_some() && !is_candidate(&request.target, &observed) {
        end_abandoned_trial(root, &state, settings, printer).await?;
        observed = observe(root, &state, &runtimes).await?;
    }
    let found = match find(&request.target, &observed.containers) {
        Err(error @ FindError::NotFound { .. }) => {
            refuse_sked(&request.target, &observed)?;
            // Success, so that a script may repeat the command.
            printer.warn(error.to_string());
            let result = StopResult::not_found(&request.target, runtimes.chosen.runtime);
            printer.print(&result)?;
            return Ok(Exit::Ok);
        }
        other => other?,
    };
    if request.dry_run {
        printer.print(&StopResult::planned(found))?;
        return Ok(Exit::Ok);
    }
    let attached = attachment(found, &observed);
    remove(found, &observed, request, &runtimes, settings, &state).await?;
    let kernel = KernelMonitor::new(root.clone());
    if let Some(attachment) = attached
        && timeout(DETACH_TIMEOUT, kernel.wait_detached(&attachment))
            .await
            .is_err()
    {
        let warning = "its process has exited, but the kernel still has its scheduler attached: see \
                       `schedctl status`";
        printer.warn(warning.to_owned());
        printer.print(&StopResult::still_attached(found))?;
        return Ok(Exit::Discrepancy);
    }
    printer.print(&StopResult::stopped(found))?;
    Ok(Exit::Ok)
}

/// Stops and removes the container; if it is on trial, also the container that the trial would
/// restore.
async fn remove(
    found: &RuntimeContainer,
    observed: &Observed,
    request: &StopRequest,
    runtimes: &Runtimes,
    settings: &Settings,
    state: &StateDir,
) -> anyhow::Result<()> {
    let id = &found.container.id;
    let trial = observed.trial.as_ref();
    let fallback = trial.and_then(|trial| trial.before.as_ref());
    ensure!(
        fallback != Some(id),
        "{} is kept to be restored after a trial: `schedctl confirm` removes it",
        id.short()
    );
    let driver = open(runtimes.endpoint(found.runtime), &settings.registry);
    driver.end(id, request.grace, After::Remove).await?;
    if trial.is_some_and(|trial| trial.candidate == *id) {
        Trial::delete(state)?;
        if let Some(old) = fallback {
            driver.end(old, request.grace, After::Remove).await?;
        }
    }
    Ok(())
}

/// The attached scheduler, if it is this container's.
fn attachment(found: &RuntimeContainer, observed: &Observed) -> Option<Attachment> {
    let assessment = observed.assess().ok()?;
    let runs = assessment.status == Status::Running && assessment.container == Some(found);
    let kernel = observed.kernel.known().filter(|_| runs)?;
    Some(Attachment {
        ops: kernel.attached()?.clone(),
        enable_seq: kernel.enable_seq.known().copied(),
    })
}

/// Fails if the name is that of a scheduler of sked.
fn refuse_sked(target: &str, observed: &Observed) -> anyhow::Result<()> {
    let pod = observed.sked.iter().find(|pod| pod.matches(target));
    if let Some(pod) = pod {
        let (location, remedy) = (pod.location(), pod.remedy());
        bail!(
            "schedctl does not end what sked runs ({location}): change it in the cluster with \
             {remedy}"
        );
    }
    Ok(())
}

fn is_candidate(target: &str, observed: &Observed) -> bool {
    let found = find(target, &observed.containers).ok();
    let candidate = observed.trial.as_ref().map(|trial| &trial.candidate);
    found.is_some_and(|found| candidate == Some(&found.container.id))
}
