//! `kubectl sx nodes`.

use crate::cluster::{Cluster, notes};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::view::nodes::view;

pub(super) async fn nodes(cluster: &Cluster, printer: &Printer) -> Result<Exit, Error> {
    let snapshot = cluster.whole_snapshot().await?;
    printer.print(&view(&snapshot, notes(&snapshot)))?;
    Ok(Exit::Ok)
}
