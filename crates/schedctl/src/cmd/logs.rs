//! `schedctl logs`: shows a scheduler's output.

use jiff::Timestamp;
use schedkit_host::HostRoot;
use schedkit_runtime::{
    ContainerId, Driver, DriverError, OutputChunk, OutputStream, TimedOutput, Until,
};

use crate::drivers::{AnyDriver, open};
use crate::exit::Exit;
use crate::forward_output::{OutputForwarder, StdoutTarget};
use crate::log_lines::{LinePrefix, LogLines};
use crate::observe::{ObserveError, Reachable, observe_reachable};
use crate::request::{LineSelection, LogsRequest, Times};
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
    let mut forwarder = OutputForwarder::new(StdoutTarget::Stdout)?;
    let written = forwarder.written();
    let mut print = |piece: OutputChunk<'_>| forwarder.write(piece);
    let output = show(&driver, &found.container.id, request, &mut print);
    tokio::select! {
        shown = written.pace(output) => match shown {
            // Another command stopped and removed it.
            Err(DriverError::NoContainer { .. }) => {}
            other => other?,
        },
        () = written.closed() => {}
    }
    written.all().await;
    Ok(Exit::Ok)
}

async fn show(
    driver: &AnyDriver,
    id: &ContainerId,
    request: &LogsRequest,
    print: &mut dyn FnMut(OutputChunk<'_>),
) -> Result<(), DriverError> {
    let LineSelection { tail, since, times } = request.lines;
    if tail.is_none() && since.is_none() && times == Times::Hidden {
        return driver.output(id, request.until, print).await.map(drop);
    }
    let timed = since.is_some() || times == Times::Shown;
    let since = since.map(|since| since.before(Timestamp::now()));
    let prefix = match timed {
        true => LinePrefix::Time,
        false => LinePrefix::None,
    };
    let mut lines = LogLines::new(prefix, since, times, tail);
    // The last lines are those of what is there now; the rest is followed from there on.
    let mut already = Passed::default();
    if tail.is_some() {
        let mut take = |piece: OutputChunk<'_>| {
            *already.of(piece.stream) += piece.bytes.len();
            lines.push(piece, print);
        };
        read(driver, id, Until::Now, timed, &mut take).await?;
        lines.end_tail(print);
        if request.until == Until::Now {
            return Ok(());
        }
    }
    let mut take = |piece: OutputChunk<'_>| {
        let skipped = already.of(piece.stream);
        let (old, new) = piece.bytes.split_at(piece.bytes.len().min(*skipped));
        *skipped -= old.len();
        let (stream, bytes) = (piece.stream, new);
        lines.push(OutputChunk { stream, bytes }, print);
    };
    read(driver, id, request.until, timed, &mut take).await?;
    lines.end_tail(print);
    Ok(())
}

async fn read(
    driver: &AnyDriver,
    id: &ContainerId,
    until: Until,
    timed: bool,
    take: &mut dyn FnMut(OutputChunk<'_>),
) -> Result<(), DriverError> {
    match timed {
        true => driver.timed_output(id, until, take).await.map(drop),
        false => driver.output(id, until, take).await.map(drop),
    }
}

/// How many bytes of each stream were read.
#[derive(Debug, Default)]
struct Passed {
    stdout: usize,
    stderr: usize,
}

impl Passed {
    fn of(&mut self, stream: OutputStream) -> &mut usize {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }
}
