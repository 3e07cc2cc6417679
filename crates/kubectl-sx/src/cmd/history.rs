//! `kubectl sx rollout history NAME`.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::schedexts::SchedExts;
use crate::view::history::view;

pub(super) async fn history(
    cluster: &Cluster,
    name: &str,
    printer: &Printer,
) -> Result<Exit, Error> {
    let stored = SchedExts::new(cluster).named(name).await?;
    printer.print(&view(&stored.schedext))?;
    Ok(Exit::Ok)
}
