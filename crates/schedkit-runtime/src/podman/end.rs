//! Ending a container: SIGTERM, the grace, SIGKILL; then it stays or goes.
//!
//! Podman could do all of that in one request, and begins to tidy up as soon as the process is
//! gone. We wait for the process ourselves and let Podman tidy up afterwards: whoever has
//! something better to do than to wait for that, such as to start the next scheduler, does it
//! first.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hyper::Method;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use super::Podman;
use super::reply;
use super::target::Target;
use super::wire::{Answer, Ask, Patience};
use crate::container::{ContainerId, State};
use crate::driver::{After, DriverError};

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
                let left = self.terminated(id, pid, grace).await;
                self.stop(id, left).await?;
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

    /// Asks the process to end and waits for that. What is left of the grace; all of it when the
    /// process cannot be seen or told, so that Podman does both.
    async fn terminated(&self, id: &ContainerId, pid: u32, grace: Duration) -> Duration {
        let Some(process) = watch(pid) else {
            return grace;
        };
        let target = Target::new(&["containers", id.as_str(), "kill"]);
        let target = target.with("signal", "SIGTERM");
        let ask = Ask::new(format!("end {}", id.short()), Method::POST, target);
        let told = self.wire.whole(ask.about(id)).await;
        if told.and_then(Answer::accepted).is_err() {
            return grace;
        }
        let gone = timeout(grace, process.readable()).await;
        gone.map_or(Duration::ZERO, |_| grace)
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
