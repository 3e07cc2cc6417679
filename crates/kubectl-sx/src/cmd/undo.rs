//! `kubectl sx rollout undo`: writes a former revision back into the spec.

use sked_api::{GoodRevision, SchedExt};
use sked_plan::rollout::put_back;
use sked_plan::rollout::undo::undone;
use sked_plan::verification::as_recorded;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::schedexts::{SchedExts, Stored};
use crate::view::message::Message;

pub(super) async fn undo(
    cluster: &Cluster,
    name: &str,
    revision: Option<&str>,
    printer: &Printer,
) -> Result<Exit, Error> {
    let schedexts = SchedExts::new(cluster);
    let mut stored = schedexts.named(name).await?;
    let good = match revision {
        None => undone(&as_recorded(&stored.schedext))
            .cloned()
            .ok_or_else(|| Error::NothingToUndo(stored.key.clone()))?,
        Some(revision) => named(&stored, revision)?,
    };
    if let Some(spec) = stored.object.data["spec"].as_object_mut() {
        put_back(spec, &good);
    }
    schedexts.replace(&stored).await?;
    let sched = good.spec.get("sched").and_then(|sched| sched.as_str());
    printer.print(&Message {
        schedext: stored.key.to_string(),
        action: "undo".to_owned(),
        message: format!(
            "the spec is that of revision {} again ({})",
            good.revision,
            sched.unwrap_or_default()
        ),
    })?;
    Ok(Exit::Ok)
}

fn named(stored: &Stored, revision: &str) -> Result<GoodRevision, Error> {
    let known = good(&stored.schedext);
    let found = known.iter().find(|good| good.revision == revision);
    found.map(|good| (*good).clone()).ok_or_else(|| {
        let known: Vec<_> = known.iter().map(|good| good.revision.clone()).collect();
        Error::NoRevision {
            key: stored.key.clone(),
            revision: revision.to_owned(),
            known: match known.is_empty() {
                true => "none that every node ran".to_owned(),
                false => known.join(", "),
            },
        }
    })
}

fn good(schedext: &SchedExt) -> Vec<&GoodRevision> {
    let status = schedext.status.iter();
    let good = status.flat_map(|status| [&status.last_good, &status.previous_good]);
    good.filter_map(|good| good.as_deref()).collect()
}
