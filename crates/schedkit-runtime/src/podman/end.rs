//! Ending a container: SIGTERM, the grace, SIGKILL; then it stays or goes.

use std::time::Duration;

use hyper::Method;
use serde::Deserialize;

use super::Podman;
use super::reply;
use super::target::Target;
use super::wire::{Ask, Patience};
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
            if let State::Running { .. } = self.inspect(id).await?.state {
                self.stop(id, grace).await?;
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
