//! The commands: one file each. A command reads the cluster, makes a view, prints it.

mod ask;
mod explain;
mod history;
mod nodes;
mod pause;
mod plan;
mod release;
mod rollout_status;
mod status;
mod undo;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::request::{Action, Request};

pub(crate) async fn perform(request: &Request, printer: &Printer) -> Result<Exit, Error> {
    let cluster = Cluster::open(&request.target).await?;
    match &request.action {
        Action::Status(args) => status::status(&cluster, args, printer).await,
        Action::RolloutStatus {
            name,
            watch,
            timeout,
        } => rollout_status::rollout_status(&cluster, name, *watch, *timeout, printer).await,
        Action::Pause { name, paused } => pause::pause(&cluster, name, *paused, printer).await,
        Action::Ask { name, ask, wait } => ask::ask(&cluster, name, ask, *wait, printer).await,
        Action::Undo { name, revision } => {
            undo::undo(&cluster, name, revision.as_deref(), printer).await
        }
        Action::History(name) => history::history(&cluster, name, printer).await,
        Action::Nodes => nodes::nodes(&cluster, printer).await,
        Action::Explain(node) => explain::explain(&cluster, node, printer).await,
        Action::Plan {
            file,
            server_dry_run,
        } => plan::plan(&cluster, file, *server_dry_run, printer).await,
        Action::Release {
            node,
            schedext,
            wait,
        } => release::release(&cluster, node, schedext.as_deref(), *wait, printer).await,
    }
}
