//! Ending a container: SIGTERM, the grace, SIGKILL; then it stays or goes.
//!
//! Podman does all of that in one request, and tidies up in it as soon as the process is gone,
//! beside a process that it starts for the same purpose. The next scheduler, which starts at that
//! very moment, would have to compete with both. So we send the signal and wait for the process
//! ourselves, and leave the rest to Podman where that does not do.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hyper::Method;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{sleep, timeout};

use super::Podman;
use super::reply;
use super::target::Target;
use super::wire::{Answer, Ask, Patience};
use crate::container::{ContainerId, State};
use crate::driver::{After, DriverError};

/// For Podman to hear of an end from the process that watches the container.
const NOTICE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// How a process took SIGTERM.
enum Reaction {
    /// It is gone.
    Gone,
    /// It is not, and the grace is over.
    Deaf,
    /// It was not told, or cannot be watched.
    Untold,
}

/// What became of one container of several; libpod says yes before it tries.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Removed {
    #[serde(default)]
    err: Option<serde_json::Value>,
}

impl Podman {
    /// Ends it; one that is gone has ended.
    pub(super) async fn finish(
        &self,
        id: &ContainerId,
        grace: Duration,
        after: After,
    ) -> Result<(), DriverError> {
        let ended = async {
            // libpod refuses to stop what does not run.
            if let State::Running { pid, .. } = self.inspect(id).await?.state {
                match self.terminate(id, pid, grace).await {
                    Reaction::Gone => self.noticed(id).await?,
                    Reaction::Deaf => self.stop(id, Duration::ZERO).await?,
                    Reaction::Untold => self.stop(id, grace).await?,
                }
            }
            match after {
                After::Keep => Ok(()),
                After::Remove => self.remove(id).await,
            }
        };
        match ended.await {
            Err(DriverError::NoContainer { .. }) => Ok(()),
            ended => ended,
        }
    }

    /// Asks the process to end, and waits for that as long as the grace.
    async fn terminate(&self, id: &ContainerId, pid: u32, grace: Duration) -> Reaction {
        // Podman's `kill` tells nobody but the first process.
        let process = watch(pid).filter(|_| is_alone(pid));
        let Some(process) = process else {
            return Reaction::Untold;
        };
        let target = Target::new(&["containers", id.as_str(), "kill"]);
        let target = target.with("signal", "SIGTERM");
        let ask = Ask::new(format!("end {}", id.short()), Method::POST, target);
        let told = self.wire.whole(ask.about(id)).await;
        if told.and_then(Answer::accepted).is_err() {
            return Reaction::Untold;
        }
        match timeout(grace, process.readable()).await {
            Ok(_) => Reaction::Gone,
            Err(_) => Reaction::Deaf,
        }
    }

    /// Returns once Podman knows of an end.
    async fn noticed(&self, id: &ContainerId) -> Result<(), DriverError> {
        let running = async || -> Result<bool, DriverError> {
            let state = self.inspect(id).await?.state;
            Ok(matches!(state, State::Running { .. }))
        };
        let heard = timeout(NOTICE, async {
            while running().await? {
                sleep(PAUSE).await;
            }
            Ok(())
        });
        match heard.await {
            Ok(heard) => heard,
            Err(_) => self.stop(id, Duration::ZERO).await,
        }
    }

    async fn stop(&self, id: &ContainerId, grace: Duration) -> Result<(), DriverError> {
        // Whole seconds, and rather one too many.
        let seconds = grace.as_millis().div_ceil(1000);
        let target = Target::new(&["containers", id.as_str(), "stop"]);
        let target = target.with("timeout", &seconds.to_string());
        let ask = Ask::new(format!("stop {}", id.short()), Method::POST, target);
        let ask = ask.about(id).patience(Patience::Longer(grace));
        self.wire.whole(ask).await?.accepted_or_done()
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), DriverError> {
        let target = Target::new(&["containers", id.as_str()]);
        let target = target.with("force", "true").with("v", "true");
        let ask = Ask::new(format!("remove {}", id.short()), Method::DELETE, target);
        let answer = self.wire.whole(ask.about(id)).await?.accepted()?;
        if answer.body.is_empty() {
            return Ok(());
        }
        let removed = answer.read(|text| serde_json::from_str::<Vec<Removed>>(text))?;
        match removed.into_iter().find_map(|one| one.err) {
            Some(error) => Err(reply::refused(&answer.attempt, error.to_string())),
            None => Ok(()),
        }
    }
}

/// Whether a process has no children.
fn is_alone(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let children = fs::read_to_string(thread.path().join("children"));
        children.is_ok_and(|children| children.trim().is_empty())
    })
}

/// Readable once the process is gone.
#[expect(
    deprecated,
    reason = "its successor is unsafe, for types that change their descriptor; an OwnedFd cannot"
)]
fn watch(pid: u32) -> Option<AsyncFd<OwnedFd>> {
    let pid = Pid::from_raw(pid.try_into().ok()?)?;
    let process = pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
    AsyncFd::with_interest(process, Interest::READABLE).ok()
}
