//! `kubectl sx status`: the tree of one SchedExt or of all, again and again with `--watch`.

use std::time::Duration;

use kubectl_sx_args::args::Status;
use sked::snapshot::{Purpose, Snapshot};
use sked_plan::claim::Explainer;
use sked_plan::part::key;
use sked_plan::plan::{Outcome, plan};

use crate::cluster::{Cluster, notes};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{Printer, Reader};
use crate::schedexts::SchedExts;
use crate::view::status::{SchedExtView, StatusView, view};

/// How often the cluster is read.
const INTERVAL: Duration = Duration::from_secs(2);

pub(super) async fn status(
    cluster: &Cluster,
    args: &Status,
    printer: &Printer,
) -> Result<Exit, Error> {
    let first = read(cluster, args).await?;
    if !args.watch {
        printer.print(&first)?;
        return Ok(Exit::Ok);
    }
    let mut shown = first;
    let mut reader = printer.redraw(&shown)?;
    while reader == Reader::Open {
        tokio::time::sleep(INTERVAL).await;
        let next = read(cluster, args).await?;
        // Where it replaces what was there, ages go on, too.
        if next != shown || printer.redraws() {
            reader = printer.redraw(&next)?;
            shown = next;
        }
    }
    Ok(Exit::Ok)
}

async fn read(cluster: &Cluster, args: &Status) -> Result<StatusView, Error> {
    let snapshot = cluster.snapshot().await?;
    if let Some(name) = &args.name {
        let key = SchedExts::new(cluster).key(name);
        if !snapshot.knows(&key) {
            // Says what there is instead.
            SchedExts::new(cluster).get(&key).await?;
        }
    }
    let is_asked = |namespace: &str, name: &str| {
        let in_namespace = cluster.asked.as_deref();
        in_namespace.is_none_or(|asked| asked == namespace)
            && args.name.as_ref().is_none_or(|asked| asked == name)
    };
    let mut schedexts: Vec<_> = schedexts(&snapshot)
        .into_iter()
        .chain(unreadable(&snapshot))
        .filter(|one| is_asked(&one.namespace, &one.name))
        .collect();
    schedexts
        .sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    Ok(StatusView {
        schedexts,
        notes: notes(&snapshot),
        shows_all_nodes: args.all_nodes,
    })
}

fn schedexts(snapshot: &Snapshot) -> Vec<SchedExtView> {
    let explained: Vec<_> = Explainer::new(snapshot.fleet()).all().collect();
    // Whoever sees only a part of the cluster is shown what the manager wrote.
    let sees_all = snapshot
        .unread()
        .iter()
        .all(|one| one.purpose == Purpose::Events);
    let all = snapshot.schedexts().into_iter();
    let observed = all.filter_map(|one| snapshot.observe(&key(&one)));
    let views = observed.map(|observed| {
        let written = observed.schedext.status.clone().unwrap_or_default();
        let status = match sees_all {
            true => {
                let plan = plan(&observed);
                sked_plan::status::status(&observed, &plan, &Outcome::default())
            }
            false => written,
        };
        view(&observed, &status, &explained)
    });
    views.collect()
}

fn unreadable(snapshot: &Snapshot) -> Vec<SchedExtView> {
    let unreadable = snapshot.unreadable().into_iter();
    let views = unreadable.map(|(key, message)| SchedExtView {
        namespace: key.namespace,
        name: key.name,
        unreadable: Some(message),
        ..SchedExtView::default()
    });
    views.collect()
}
