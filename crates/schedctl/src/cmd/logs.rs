//! `schedctl logs`: what a scheduler says.

use schedkit_host::HostRoot;
use schedkit_runtime::{Driver, DriverError, OutputChunk};
use tokio::sync::Notify;

use super::which::{only, which};
use crate::drivers::open;
use crate::exit::Exit;
use crate::observe::observe;
use crate::request::{Logs, Settings};
use crate::state_dir::StateDir;
use crate::words::{Place, Words};

pub(super) async fn logs(
    logs: &Logs,
    root: &HostRoot,
    settings: &Settings,
) -> anyhow::Result<Exit> {
    let observed = observe(root, &StateDir::system(), &settings.runtimes).await?;
    let held = match &logs.word {
        Some(word) => which(word, &observed.ours)?,
        None => only(&observed.ours)?,
    };
    let driver = open(settings.runtimes.place(held.runtime), &settings.registry);
    let gone = Notify::new();
    let mut words = Words::new(Place::Same, &gone);
    let mut take = |piece: OutputChunk<'_>| words.show(piece);
    let listening = driver.output(&held.container.id, logs.until, &mut take);
    tokio::select! {
        listened = listening => match listened {
            // Somebody ended and removed it: that is an end, too.
            Err(DriverError::NoContainer { .. }) => {}
            other => drop(other?),
        },
        () = gone.notified() => {}
    }
    Ok(Exit::Ok)
}
