//! `schedctl stop`: ends a scheduler of ours and removes its container, in whichever runtime it is.

use std::time::Duration;

use anyhow::{bail, ensure};
use schedkit_host::HostRoot;
use schedkit_runtime::{After, Driver};
use tokio::time::timeout;

use super::repair::repair;
use super::which::{WhichError, which};
use crate::drivers::open;
use crate::exit::Exit;
use crate::kernel::{Kernel, Taken};
use crate::observe::{Observed, observe};
use crate::output::Printer;
use crate::output::stopped::Stopped;
use crate::request::{Ending, Settings, Stop};
use crate::state_dir::StateDir;
use crate::status::{Held, Status, judge};
use crate::trial::Trial;

/// The kernel lets go of a scheduler whose process is gone within milliseconds.
const LETTING_GO: Duration = Duration::from_secs(10);

pub(super) async fn stop(
    stop: &Stop,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    let dry_run = stop.ending == Ending::DryRun;
    let _lock = if dry_run {
        None
    } else {
        Some(state.lock().await?)
    };
    let kernel = Kernel::of(root.clone());
    let mut observed = observe(root, &state, &settings.runtimes).await?;
    // Whoever ends what is tried ends the trial, too: nothing need be put right first.
    if !dry_run && observed.trial.is_some() && !is_tried(&stop.word, &observed) {
        repair(root, &state, settings, printer).await?;
        observed = observe(root, &state, &settings.runtimes).await?;
    }
    let held = match which(&stop.word, &observed.ours) {
        Err(error @ WhichError::None { .. }) => {
            leave_alone(&stop.word, &observed)?;
            // Whoever ends it twice has what they wanted the first time.
            printer.warn(error.to_string());
            printer.print(&Stopped::nothing(
                &stop.word,
                settings.runtimes.chosen.runtime,
            ))?;
            return Ok(Exit::Ok);
        }
        other => other?,
    };
    let mut told = Stopped::of(held, dry_run);
    if dry_run {
        printer.print(&told)?;
        return Ok(Exit::Ok);
    }
    let id = &held.container.id;
    let spare = observed
        .trial
        .as_ref()
        .and_then(|trial| trial.before.as_ref());
    ensure!(
        spare != Some(id),
        "{} is kept for the end of a trial: `schedctl confirm` removes it",
        id.short()
    );
    let attached = attached(held, &observed);
    let driver = open(settings.runtimes.place(held.runtime), &settings.registry);
    driver.end(id, stop.grace, After::Remove).await?;
    let trial = observed.trial.as_ref();
    if let Some(trial) = trial.filter(|trial| trial.candidate == *id) {
        // Whoever stops what is tried wants neither: the spare goes, too.
        Trial::forget(&state)?;
        if let Some(spare) = &trial.before {
            driver.end(spare, stop.grace, After::Remove).await?;
        }
    }
    let exit = match attached {
        Some(taken) if timeout(LETTING_GO, kernel.lost(&taken)).await.is_err() => {
            let warning = "its process has ended, and the kernel still holds its scheduler: see \
                           `schedctl status`";
            printer.warn(warning.to_owned());
            told.kernel_holds();
            Exit::Discrepancy
        }
        _ => Exit::Ok,
    };
    printer.print(&told)?;
    Ok(exit)
}

/// What the kernel runs of this container.
fn attached(held: &Held, observed: &Observed) -> Option<Taken> {
    let judgement = judge(&observed.kernel, &observed.ours, &observed.holds, None).ok()?;
    let runs = judgement.status == Status::Running && judgement.scheduler == Some(held);
    let kernel = observed.kernel.known().filter(|_| runs)?;
    Some(Taken {
        ops: kernel.attached()?.clone(),
        enable_seq: kernel.enable_seq.known().copied(),
    })
}

/// Refuses when it is sked's that is called so.
fn leave_alone(word: &str, observed: &Observed) -> anyhow::Result<()> {
    let called = observed.sked.iter().find(|pod| pod.is_called(word));
    if let Some(pod) = called {
        let (whose, remedy) = (pod.whose(), pod.remedy());
        bail!(
            "schedctl does not end what sked runs ({whose}): end or change it in the cluster with \
             {remedy}"
        );
    }
    Ok(())
}

fn is_tried(word: &str, observed: &Observed) -> bool {
    let held = which(word, &observed.ours).ok();
    let tried = observed.trial.as_ref().map(|trial| &trial.candidate);
    held.is_some_and(|held| tried == Some(&held.container.id))
}
