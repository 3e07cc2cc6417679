//! `kubectl sx explain NODE`.

use sked_plan::claim::Explainer;

use crate::cluster::{Cluster, notes};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::view::explanation::of;

pub(super) async fn explain(
    cluster: &Cluster,
    node: &str,
    printer: &Printer,
) -> Result<Exit, Error> {
    let snapshot = cluster.whole_snapshot().await?;
    let explainer = Explainer::new(snapshot.fleet());
    let Some(explanation) = explainer.node(&node.into()) else {
        return Err(Error::NoNode {
            name: node.to_owned(),
        });
    };
    printer.print(&of(&snapshot, &explanation, notes(&snapshot)))?;
    Ok(Exit::Ok)
}
