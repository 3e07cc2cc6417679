//! `schedctl logs`: shows a scheduler's output.

use schedkit_host::HostRoot;
use schedkit_runtime::{Driver, DriverError, OutputChunk};
use tokio::sync::Notify;

use crate::drivers::open;
use crate::exit::Exit;
use crate::forward_output::{OutputForwarder, StdoutTarget};
use crate::observe::{ObserveError, Reachable, observe_reachable};
use crate::request::LogsRequest;
use crate::settings::Settings;
use crate::state_dir::StateDir;
use crate::steps::find_container;

pub(super) async fn logs(
    request: &LogsRequest,
    root: &HostRoot,
    settings: &Settings,
) -> anyhow::Result<Exit> {
    let runtimes = settings.runtimes();
    let Reachable {
        observed, unread, ..
    } = observe_reachable(root, &StateDir::system(), &runtimes).await?;
    let found = match &request.target {
        Some(target) => find_container::find(target, &observed.containers),
        None => find_container::only(&observed.containers),
    };
    let found = match (found, unread.into_iter().next()) {
        // It may be in the runtime that does not answer.
        (Err(error), Some(unread)) if error.is_absence() => {
            return Err(ObserveError::from(unread).into());
        }
        (found, _) => found?,
    };
    let driver = open(runtimes.endpoint(found.runtime), &settings.registry);
    let closed = Notify::new();
    let mut forwarder = OutputForwarder::new(StdoutTarget::Stdout, &closed);
    let mut take = |piece: OutputChunk<'_>| forwarder.write(piece);
    let output = driver.output(&found.container.id, request.until, &mut take);
    tokio::select! {
        exited = output => match exited {
            // Another command stopped and removed it.
            Err(DriverError::NoContainer { .. }) => {}
            other => drop(other?),
        },
        () = closed.notified() => {}
    }
    Ok(Exit::Ok)
}
