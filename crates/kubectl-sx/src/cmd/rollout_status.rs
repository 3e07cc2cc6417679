//! `kubectl sx rollout status NAME`: waits until the roll-out has ended, as `kubectl rollout status`.

use std::time::Duration;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{Printer, Reader};
use crate::schedexts::SchedExts;
use crate::view::rollout::{RolloutState, RolloutView, view};
use crate::wait::until;

pub(super) async fn rollout_status(
    cluster: &Cluster,
    name: &str,
    watch: bool,
    timeout: Option<Duration>,
    printer: &Printer,
) -> Result<Exit, Error> {
    let schedexts = SchedExts::new(cluster);
    let key = schedexts.key(name);
    let mut shown: Option<RolloutView> = None;
    let ended = until(timeout, async || {
        let next = view(&schedexts.get(&key).await?.schedext);
        let changed = shown.as_ref() != Some(&next);
        if changed && printer.print_next(&next)? == Reader::Closed {
            return Ok(Some(Exit::Ok));
        }
        let ended = exit(next.state).or((!watch).then_some(Exit::Ok));
        shown = Some(next);
        Ok(ended)
    })
    .await?;
    ended.ok_or_else(|| Error::Timeout {
        key,
        seconds: timeout.unwrap_or_default().as_secs(),
        state: shown.map_or_else(String::new, |shown| shown.message),
    })
}

/// `None` while it goes on.
fn exit(state: RolloutState) -> Option<Exit> {
    match state {
        RolloutState::Waiting => None,
        RolloutState::Complete => Some(Exit::Ok),
        RolloutState::Failed => Some(Exit::Failure),
    }
}
