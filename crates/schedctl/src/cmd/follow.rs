//! Stays with a scheduler: shows what it says until it ends, or until somebody asks to end it.

use std::pin::pin;
use std::time::Duration;

use schedkit_runtime::{After, ContainerId, Driver, DriverError, ExitCode, Until};
use tokio::sync::Notify;

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::state_dir::StateDir;
use crate::trial::Trial;
use crate::words::{Place, Words};

const GRACE: Duration = Duration::from_secs(10);

/// Its exit code is ours. The container goes with it, unless somebody else has it in hand.
pub(super) async fn follow(
    driver: &impl Driver,
    id: &ContainerId,
    place: Place,
    state: &StateDir,
    interrupt: &mut Interrupt,
) -> anyhow::Result<Exit> {
    // Whoever stays stays, whether anybody reads or not.
    let gone = Notify::new();
    let mut words = Words::new(place, &gone);
    let ended = {
        let mut take = |piece: schedkit_runtime::OutputChunk<'_>| words.show(piece);
        let mut listening = pin!(driver.output(id, Until::Exit, &mut take));
        tokio::select! {
            ended = &mut listening => ended,
            () = interrupt.heard() => {
                // It says its last words while it ends.
                let ending = driver.end(id, GRACE, After::Keep);
                let (ended, code) = tokio::join!(ending, tokio::time::timeout(2 * GRACE, listening));
                ended?;
                code.unwrap_or(Ok(None))
            }
        }
    };
    let code = match ended {
        Ok(Some(ExitCode(code))) => u8::try_from(code).unwrap_or(u8::MAX),
        Ok(None) => return Ok(Exit::Trouble),
        // Somebody ended and removed it: that is how it was meant.
        Err(DriverError::NoContainer { .. }) => return Ok(Exit::Ok),
        Err(error) => return Err(error.into()),
    };
    // A switch that is under way may want to start it again, and a trial that nobody confirms.
    let _lock = state.lock().await?;
    let trial = Trial::read(state)?;
    if trial.is_some_and(|trial| trial.before.as_ref() == Some(id)) {
        return Ok(Exit::Scheduler(code));
    }
    let listed = driver.list().await?;
    let still = listed.iter().find(|container| container.id == *id);
    if still.is_some_and(|container| container.pid().is_none()) {
        driver.end(id, GRACE, After::Remove).await?;
    }
    Ok(Exit::Scheduler(code))
}
