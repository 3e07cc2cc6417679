//! Stands by during a trial: goes back when its time is up, or when the kernel lets go of what is
//! tried. A process of its own, in a session of its own: it outlives the schedctl that began the
//! trial, however that ends, and the terminal.
//!
//! ```text
//! trial.json there ──▶ its time is up, or the kernel let go ──▶ lock, look again ──▶ go back
//!        ├── it has not begun, and nobody holds the lock: its starter was killed ─────┘
//!        └── gone, or another trial's: confirmed or stopped ──▶ nothing to do
//! ```

use std::fmt;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::{Fact, SchedExt};
use schedkit_runtime::{After, Container, ContainerId, Driver};
use tokio::time::sleep;

use crate::execute::{Cause, Machine};
use crate::kernel::{Kernel, Taken};
use crate::plan::Wait;
use crate::runtimes::{Place, name_of};
use crate::state_dir::{StateDir, StateError};
use crate::trial::{Stage, Trial};

/// Reading two small files this often costs nothing that can be measured.
const PAUSE: Duration = Duration::from_millis(500);
const SETTLING: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(10);
/// What ran before has attached on this machine already.
const BACK: Wait = Wait {
    attach: Duration::from_secs(120),
    probation: Duration::ZERO,
};
const READY: &[u8] = b"ready";
/// So often the runtime may fail to end the candidate before the kernel is asked.
const PATIENCE: u32 = 3;

/// How a trial ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Somebody confirmed or stopped it.
    Settled,
    /// The candidate is gone; what ran before, if anything did, is back.
    WentBack(Option<Taken>),
    /// The candidate is gone; what ran before is not back.
    NotBack(Cause),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settled => f.write_str("it was confirmed or stopped"),
            Self::WentBack(None) => f.write_str("it was ended, and nothing ran before it"),
            Self::WentBack(Some(taken)) => {
                write!(f, "it was ended, and {} is attached again", taken.ops)
            }
            Self::NotBack(cause) => write!(f, "what ran before it did not come back: {cause}"),
        }
    }
}

/// Starts the guard as a process of its own, and returns once it stands by.
pub(crate) fn stand_by(place: &Place, trial: &Trial) -> io::Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--driver", name_of(place.runtime), "--socket"])
        .arg(&place.socket)
        .args(["guard", trial.candidate.as_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut said = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        stdout.take(READY.len() as u64).read_to_end(&mut said)?;
    }
    if said == READY {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(io::Error::other("the guard ended before it stood by"))
}

/// Leaves the terminal's session and says so. A closed terminal no longer concerns us then.
pub(crate) fn detach_from_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    // Whoever listens may be gone: all the more reason to stand by.
    let _ = io::Write::write_all(&mut io::stdout(), READY);
    let _ = io::Write::flush(&mut io::stdout());
    Ok(())
}

/// Waits for the end of the trial of this candidate, and goes back if it must. Nothing that goes
/// wrong ends it: whoever stands by tries again, and at last pulls the brake.
pub(crate) async fn watch<D: Driver>(machine: &Machine<'_, D>, candidate: &ContainerId) -> Ending {
    let mut failures = 0;
    loop {
        match look(machine, candidate).await {
            Ok(Some(ending)) => return ending,
            Ok(None) => {}
            Err(cause) => {
                tracing::warn!("the trial of {candidate} could not be ended: {cause}");
                failures += 1;
                if failures == PATIENCE {
                    pull_the_brake(machine, candidate);
                }
            }
        }
        sleep(PAUSE * (1 << failures.min(6))).await;
    }
}

/// Looks once; goes back when it is time to.
async fn look<D: Driver>(
    machine: &Machine<'_, D>,
    candidate: &ContainerId,
) -> Result<Option<Ending>, Cause> {
    let Some(trial) = current(machine.state, candidate)? else {
        return Ok(Some(Ending::Settled));
    };
    if !may_be_over(&trial, Timestamp::now(), machine.kernel) {
        return Ok(None);
    }
    // Whoever starts a trial holds the lock until it has begun, and whoever ends one, too.
    let Some(_lock) = machine.state.try_lock()? else {
        return Ok(None);
    };
    // It may have begun, or been settled, just before the lock was let go.
    if current(machine.state, candidate)?.as_ref() != Some(&trial) {
        return Ok(None);
    }
    go_back(machine, &trial).await.map(Some)
}

fn current(state: &StateDir, candidate: &ContainerId) -> Result<Option<Trial>, StateError> {
    let trial = Trial::read(state)?;
    Ok(trial.filter(|trial| trial.candidate == *candidate))
}

/// One that is being started is over when its starter is gone, which the lock tells.
fn may_be_over(trial: &Trial, now: Timestamp, kernel: &Kernel) -> bool {
    let Stage::Begun { enable_seq } = trial.stage else {
        return true;
    };
    let lost = match kernel.now() {
        Fact::Known(kernel) => {
            let number = kernel.enable_seq.known();
            kernel.attached().is_none() && !kernel.is_transitional()
                || enable_seq.is_some_and(|ours| number.is_some_and(|now| *now != ours))
        }
        Fact::Absent | Fact::Unreadable(_) | Fact::Malformed(_) => false,
    };
    lost || now >= trial.until
}

/// Ends the candidate and starts what ran before. Called with the lock held. As long as the
/// candidate cannot be ended the trial goes on.
pub(crate) async fn go_back<D: Driver>(
    machine: &Machine<'_, D>,
    trial: &Trial,
) -> Result<Ending, Cause> {
    let ending = machine.driver.end(&trial.candidate, GRACE, After::Remove);
    ending.await?;
    let ending = match &trial.before {
        None => Ending::WentBack(None),
        Some(old) => match start_again(machine, old).await {
            Ok(taken) => Ending::WentBack(Some(taken)),
            Err(cause) => Ending::NotBack(cause),
        },
    };
    Trial::forget(machine.state)?;
    Ok(ending)
}

/// The runtime does not end the candidate: the kernel still can let go of it.
fn pull_the_brake<D: Driver>(machine: &Machine<'_, D>, candidate: &ContainerId) {
    let trial = current(machine.state, candidate).ok().flatten();
    let Some(Stage::Begun { enable_seq }) = trial.map(|trial| trial.stage) else {
        return;
    };
    // Only if it is the candidate that the kernel holds.
    if enable_seq.is_some() && machine.kernel.enable_seq() == enable_seq {
        let _ = machine.kernel.let_go();
    }
}

/// A trial that was cut short early may not have ended what ran before.
async fn start_again<D: Driver>(
    machine: &Machine<'_, D>,
    old: &ContainerId,
) -> Result<Taken, Cause> {
    let all = machine.driver.list().await?;
    let found = all.iter().find(|container| container.id == *old);
    if found.and_then(Container::pid).is_some() {
        let kernel = machine.kernel.settled(SETTLING).await;
        if let Some(ops) = kernel.known().and_then(SchedExt::attached) {
            return Ok(Taken {
                ops: ops.clone(),
                enable_seq: machine.kernel.enable_seq(),
            });
        }
    }
    machine.bring_back(None, old, BACK).await
}
