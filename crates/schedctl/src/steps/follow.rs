//! `run --attach`: shows a scheduler's output until it exits, and stops it on a signal.

use std::pin::pin;
use std::time::Duration;

use schedkit_runtime::{After, ContainerId, Driver, DriverError, ExitCode, OutputChunk, Until};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::forward_output::{OutputForwarder, StdoutTarget};
use crate::interrupt::Interrupt;
use crate::state_dir::StateDir;
use crate::steps::take_lock::take_lock;
use crate::trial::Trial;

const GRACE: Duration = Duration::from_secs(10);

/// Returns the scheduler's exit code, and removes its container unless another command needs it.
pub(crate) async fn follow(
    driver: &impl Driver,
    id: &ContainerId,
    target: StdoutTarget,
    state: &StateDir,
    interrupt: &Interrupt,
) -> anyhow::Result<Exit> {
    // A closed pipe does not stop the scheduler.
    let closed = Notify::new();
    let mut forwarder = OutputForwarder::new(target, &closed);
    let exited = {
        let _hold = interrupt.hold();
        let mut take = |piece: OutputChunk<'_>| forwarder.write(piece);
        let mut output = pin!(driver.output(id, Until::Exit, &mut take));
        tokio::select! {
            exited = &mut output => exited,
            _ = interrupt.received() => {
                // Its output while it stops is shown, too.
                let stopping = driver.end(id, GRACE, After::Keep);
                let (stopped, code) = tokio::join!(stopping, timeout(2 * GRACE, output));
                stopped?;
                code.unwrap_or(Ok(None))
            }
        }
    };
    let code = match exited {
        Ok(Some(ExitCode(code))) => u8::try_from(code).unwrap_or(u8::MAX),
        Ok(None) => return Ok(Exit::Failure),
        // Another command stopped and removed it.
        Err(DriverError::NoContainer { .. }) => return Ok(Exit::Ok),
        Err(error) => return Err(error.into()),
    };
    // A switch in progress or a trial may start this container again.
    let _lock = take_lock(state).await?;
    let trial = Trial::read(state)?;
    if trial.is_some_and(|trial| trial.before.as_ref() == Some(id)) {
        return Ok(Exit::Scheduler(code));
    }
    let listed = driver.list().await?;
    let found = listed.iter().find(|container| container.id == *id);
    if found.is_some_and(|container| container.pid().is_none()) {
        driver.end(id, GRACE, After::Remove).await?;
    }
    Ok(Exit::Scheduler(code))
}
