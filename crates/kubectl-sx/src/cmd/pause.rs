//! `kubectl sx rollout pause` and `resume`: `spec.rollout.paused`.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::schedexts::SchedExts;
use crate::view::message::Message;

pub(super) async fn pause(
    cluster: &Cluster,
    name: &str,
    paused: bool,
    printer: &Printer,
) -> Result<Exit, Error> {
    let schedexts = SchedExts::new(cluster);
    let stored = schedexts.named(name).await?;
    let rollout = stored.schedext.spec.rollout.as_ref();
    let is_paused = rollout.is_some_and(|rollout| rollout.paused);
    let message = match (is_paused, paused) {
        (true, true) => "it is paused already",
        (false, false) => "it is not paused",
        (_, true) => "paused",
        (_, false) => "resumed",
    };
    if is_paused != paused {
        // Not set is the default.
        let value = if paused { json!(true) } else { Value::Null };
        let patch = json!({"spec": {"rollout": {"paused": value}}});
        schedexts.patch(&stored.key, &patch).await?;
    }
    let hint = match rollout {
        None if paused => {
            "; spec.rollout was not set: from now on each node soaks before the next one follows"
        }
        _ => "",
    };
    printer.print(&Message {
        schedext: stored.key.to_string(),
        action: if paused { "pause" } else { "resume" }.to_owned(),
        message: format!("{message}{hint}"),
    })?;
    Ok(Exit::Ok)
}
