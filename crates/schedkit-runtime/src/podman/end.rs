//! Ends a container: its stop signal (SIGTERM), the grace period, SIGKILL; then keeps or removes it.
//!
//! Podman can do all of that in one request, but it cleans up in it as soon as the process has
//! exited, and so does a process that it starts for the same purpose. Both would compete with the
//! next scheduler, which starts at that moment. So the driver sends SIGTERM and waits for the process
//! itself, and uses Podman's request only where that fails.

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
use super::client::{ApiRequest, RequestTimeout};
use super::response::{ApiResponse, refused};
use super::target::Target;
use crate::container::{ContainerId, ContainerState};
use crate::driver::{After, DriverError};
use crate::ownership::Ownership;
use crate::stop_signal::StopSignal;

/// For Podman to notice the exit, through the process that monitors the container.
const EXIT_NOTICE: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The effect of the stop signal on a process.
enum Termination {
    Exited,
    /// It still runs after the grace period.
    StillRunning,
    /// The signal was not sent, or the process cannot be watched.
    NotSignalled,
}

/// The result for one container: the status of the response is a success even if this failed.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Removed {
    #[serde(default)]
    err: Option<serde_json::Value>,
}

impl Podman {
    /// A container that does not exist is no error.
    pub(super) async fn end_container(
        &self,
        id: &ContainerId,
        grace: Duration,
        after: After,
    ) -> Result<(), DriverError> {
        let ended = async {
            let inspected = self.inspect(id).await?;
            // libpod refuses to stop a container that does not run.
            if let ContainerState::Running { pid, .. } = inspected.state {
                match self.terminate(id, pid, inspected.stop_signal, grace).await {
                    Termination::Exited => self.wait_until_stopped(id).await?,
                    Termination::StillRunning => self.stop(id, Duration::ZERO).await?,
                    Termination::NotSignalled => self.stop(id, grace).await?,
                }
            }
            match after {
                After::Keep => Ok(()),
                After::Remove => self.remove(id, inspected.ownership).await,
            }
        };
        match ended.await {
            Err(DriverError::NoContainer { .. }) => Ok(()),
            ended => ended,
        }
    }

    /// Sends the stop signal and waits for the exit during the grace period.
    async fn terminate(
        &self,
        id: &ContainerId,
        pid: u32,
        signal: StopSignal,
        grace: Duration,
    ) -> Termination {
        // Podman's `kill` signals only the first process.
        let process = watch(pid).filter(|_| has_no_children(pid));
        let Some(process) = process else {
            return Termination::NotSignalled;
        };
        let target = Target::new(&["containers", id.as_str(), "kill"]);
        let target = target.with("signal", &signal.number().to_string());
        let request = ApiRequest::new(format!("end {}", id.short()), Method::POST, target);
        let response = self.client.send(request.about(id)).await;
        if response.and_then(ApiResponse::accepted).is_err() {
            return Termination::NotSignalled;
        }
        match timeout(grace, process.readable()).await {
            Ok(_) => Termination::Exited,
            Err(_) => Termination::StillRunning,
        }
    }

    /// Returns once Podman has noticed the exit.
    async fn wait_until_stopped(&self, id: &ContainerId) -> Result<(), DriverError> {
        let running = async || -> Result<bool, DriverError> {
            let state = self.inspect(id).await?.state;
            Ok(matches!(state, ContainerState::Running { .. }))
        };
        let stopped = timeout(EXIT_NOTICE, async {
            while running().await? {
                sleep(POLL_INTERVAL).await;
            }
            Ok(())
        });
        match stopped.await {
            Ok(stopped) => stopped,
            Err(_) => self.stop(id, Duration::ZERO).await,
        }
    }

    async fn stop(&self, id: &ContainerId, grace: Duration) -> Result<(), DriverError> {
        // Whole seconds, rounded up.
        let seconds = grace.as_millis().div_ceil(1000);
        let target = Target::new(&["containers", id.as_str(), "stop"]);
        let target = target.with("timeout", &seconds.to_string());
        let request = ApiRequest::new(format!("stop {}", id.short()), Method::POST, target);
        let request = request.about(id).timeout(RequestTimeout::Extended(grace));
        self.client.send(request).await?.accepted_or_done()
    }

    /// With force, and with its volumes, only if the container is certainly ours: otherwise Podman
    /// refuses if it was started again meanwhile, or is paused.
    async fn remove(
        &self,
        id: &ContainerId,
        ownership: Option<Ownership>,
    ) -> Result<(), DriverError> {
        let mut target = Target::new(&["containers", id.as_str()]);
        if ownership == Some(Ownership::Ours) {
            target = target.with("force", "true").with("v", "true");
        }
        let request = ApiRequest::new(format!("remove {}", id.short()), Method::DELETE, target);
        let response = self.client.send(request.about(id)).await?.accepted()?;
        if response.body.is_empty() {
            return Ok(());
        }
        let removed = response.parse(|text| serde_json::from_str::<Vec<Removed>>(text))?;
        match removed.into_iter().find_map(|one| one.err) {
            Some(error) => Err(refused(&response.attempt, error.to_string())),
            None => Ok(()),
        }
    }
}

fn has_no_children(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let children = fs::read_to_string(thread.path().join("children"));
        children.is_ok_and(|children| children.trim().is_empty())
    })
}

/// A pidfd, which is readable once the process has exited.
#[expect(
    deprecated,
    reason = "its successor is unsafe, for types that change their descriptor; an OwnedFd cannot"
)]
fn watch(pid: u32) -> Option<AsyncFd<OwnedFd>> {
    let pid = Pid::from_raw(pid.try_into().ok()?)?;
    let process = pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
    AsyncFd::with_interest(process, Interest::READABLE).ok()
}
