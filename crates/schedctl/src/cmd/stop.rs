//! `schedctl stop`: stops a scheduler and removes its container, in either runtime. A runtime that
//! does not answer does not keep it from stopping what runs in the other one.

use anyhow::{bail, ensure};
use schedkit_host::{Fact, HostRoot, SchedExtState};
use schedkit_runtime::{After, Driver, DriverError};
use tokio::time::timeout;

use crate::container::RuntimeContainer;
use crate::drivers::open;
use crate::error_text;
use crate::exit::Exit;
use crate::inventory::is_not_installed;
use crate::kernel::{Attachment, DETACH_TIMEOUT, KernelMonitor};
use crate::observe::{ObserveError, Observed, Reachable, observe_reachable};
use crate::output::{Printer, stop::StopResult};
use crate::request::StopRequest;
use crate::runtimes::Runtimes;
use crate::settings::{Origin, Settings};
use crate::state_dir::StateDir;
use crate::status::Status;
use crate::steps::end_abandoned_trial::{end_abandoned_trial, forget_unreadable_trial};
use crate::steps::find_container::{FindError, find, running};
use crate::steps::take_lock::take_lock;
use crate::trial::Trial;

pub(super) async fn stop(
    request: &StopRequest,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let (state, runtimes) = (StateDir::system(), settings.runtimes());
    let target = request.target.as_deref();
    let _lock = match request.dry_run {
        true => None,
        false => Some(take_lock(&state).await?),
    };
    if !request.dry_run {
        forget_unreadable_trial(&state, printer)?;
    }
    let mut seen = observe_reachable(root, &state, &runtimes).await?;
    // Stopping the candidate ends its trial: then there is nothing to restore first.
    if !request.dry_run && seen.observed.trial.is_some() && !is_candidate(target, &seen.observed) {
        match end_abandoned_trial(root, &state, settings, printer).await {
            Ok(()) => seen = observe_reachable(root, &state, &runtimes).await?,
            Err(error) => printer.warn(format!(
                "the trial could not be ended: {}",
                error_text::one_line(error.as_ref())
            )),
        }
    }
    let Some(found) = choose(target, &seen.observed.containers)? else {
        return nothing_found(request, seen, &runtimes, settings, &state, printer).await;
    };
    for error in unread(&seen, Some(found), settings) {
        let error = error_text::one_line(error);
        printer.warn(format!("{error}: its containers of schedctl are unknown"));
    }
    if request.dry_run {
        printer.print(&StopResult::planned(found))?;
        return Ok(Exit::Ok);
    }
    let attached = attachment(found, &seen.observed);
    remove(found, &seen.observed, request, &runtimes, settings, &state).await?;
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

/// What is to be stopped: by name, or what runs. `None` if there is no such container.
fn choose<'a>(
    target: Option<&str>,
    containers: &'a [RuntimeContainer],
) -> Result<Option<&'a RuntimeContainer>, FindError> {
    match target.map(|target| find(target, containers)) {
        None => running(containers),
        Some(Err(FindError::NotFound { .. })) => Ok(None),
        Some(found) => found.map(Some),
    }
}

/// No container of the runtimes that answered is to be stopped.
async fn nothing_found(
    request: &StopRequest,
    mut seen: Reachable,
    runtimes: &Runtimes,
    settings: &Settings,
    state: &StateDir,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let target = request.target.as_deref();
    if let Some(target) = target {
        refuse_sked(target, &seen.observed)?;
    }
    if let Some(trial) = &seen.observed.trial
        && is_candidate(target, &seen.observed)
        && !request.dry_run
    {
        let driver = open(runtimes.endpoint(trial.runtime), &settings.registry);
        for id in [Some(&trial.candidate), trial.before.as_ref()]
            .into_iter()
            .flatten()
        {
            driver.end(id, request.grace, After::Remove).await?;
        }
        Trial::delete(state)?;
        printer.print(&StopResult::trial_ended(trial))?;
        return Ok(Exit::Ok);
    }
    if !unread(&seen, None, settings).is_empty() {
        return Err(ObserveError::from(seen.unread.remove(0)).into());
    }
    // Success, so that a script may repeat the command.
    let note = match target.map(|target| find(target, &seen.observed.containers)) {
        Some(Err(error)) => error.to_string(),
        _ => "no scheduler of schedctl runs".to_owned(),
    };
    printer.warn(note);
    printer.print(&StopResult::not_found(target, runtimes.chosen.runtime))?;
    Ok(Exit::Ok)
}

/// Why it is unknown whether there is more to stop. Nobody need have the default runtime: if it is
/// not installed, what the other one and the kernel say is enough.
fn unread<'a>(
    seen: &'a Reachable,
    found: Option<&RuntimeContainer>,
    settings: &Settings,
) -> Vec<&'a DriverError> {
    let Reachable {
        observed,
        answered,
        unread,
    } = seen;
    let settled = found.is_some() || has_nothing_attached(observed);
    let by_default = [&settings.driver.origin, &settings.socket.origin];
    let by_default = by_default.iter().all(|origin| **origin == Origin::Default);
    let excused = by_default && settled && !answered.is_empty();
    let unread = unread.iter();
    unread
        .filter(|error| !(excused && is_not_installed(error)))
        .collect()
}

fn has_nothing_attached(observed: &Observed) -> bool {
    match &observed.kernel {
        Fact::Absent => true,
        kernel => kernel
            .known()
            .is_some_and(|kernel| kernel.state == Fact::Known(SchedExtState::Disabled)),
    }
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

/// Whether the candidate of the trial is meant. Its container may be gone while the guard still
/// tries to go back.
fn is_candidate(target: Option<&str>, observed: &Observed) -> bool {
    let Some(trial) = &observed.trial else {
        return false;
    };
    match choose(target, &observed.containers) {
        Ok(Some(found)) => found.container.id == trial.candidate,
        Ok(None) => target
            .is_none_or(|target| target == trial.scheduler || target == trial.candidate.as_str()),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use schedkit_runtime::driver::Runtime;
    use schedkit_runtime::{ContainerState, ExitCode};

    use super::*;
    use crate::fixtures::{kernel, runtime_container, trial};

    fn left_over(id: &str, scheduler: &str) -> RuntimeContainer {
        let mut left = runtime_container(Runtime::Podman, id, scheduler);
        left.container.state = ContainerState::Exited(ExitCode(0));
        left
    }

    #[test]
    fn without_a_name_the_one_that_runs_is_stopped() {
        let a = runtime_container(Runtime::Podman, "aaaa", "scx_a");
        let b = runtime_container(Runtime::Containerd, "bbbb", "scx_b");
        let left = left_over("cccc", "scx_c");
        assert_eq!(choose(None, &[]).unwrap(), None);
        assert_eq!(choose(None, std::slice::from_ref(&left)).unwrap(), None);
        let all = [left.clone(), b.clone()];
        assert_eq!(choose(None, &all).unwrap(), Some(&b));
        let error = choose(None, &[a, b, left]).unwrap_err().to_string();
        assert_eq!(error, "a name or id is needed (existing: scx_a, scx_b)");
    }

    #[test]
    fn a_trial_is_ended_by_its_schedulers_name_even_when_its_container_is_gone() {
        let mut observed = Observed {
            kernel: kernel(SchedExtState::Disabled, None, None),
            containers: vec![left_over("old-id", "scx_old")],
            sked: Vec::new(),
            holds_scheduler: Fact::Absent,
            trial: Some(trial("new-id")),
        };
        for (target, meant) in [
            (None, true),
            (Some("scx_new"), true),
            (Some("new-id"), true),
            (Some("scx_old"), false),
            (Some("scx_other"), false),
        ] {
            assert_eq!(is_candidate(target, &observed), meant, "{target:?}");
        }
        observed.containers = vec![runtime_container(Runtime::Podman, "new-id", "scx_new")];
        assert!(is_candidate(None, &observed));
        observed.trial = None;
        assert!(!is_candidate(Some("scx_new"), &observed));
    }
}
