//! `schedctl guard`, which nobody types: stands by during a trial. See [`crate::guard`].

use schedkit_host::HostRoot;
use schedkit_runtime::ContainerId;

use crate::drivers::open;
use crate::execute::Machine;
use crate::exit::Exit;
use crate::guard;
use crate::kernel::Kernel;
use crate::request::Settings;
use crate::state_dir::StateDir;

pub(super) async fn stand_by(
    candidate: &ContainerId,
    root: &HostRoot,
    settings: &Settings,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    let _here = state.stand_by()?;
    guard::detach_from_terminal()?;
    let driver = open(&settings.runtimes.chosen, &settings.registry);
    let machine = Machine {
        driver: &driver,
        runtime: settings.runtimes.chosen.runtime,
        kernel: &Kernel::of(root.clone()),
        state: &state,
        stand_by: &|_| Ok(()),
    };
    let ending = guard::watch(&machine, candidate).await;
    tracing::info!("the trial of {candidate} is over: {ending}");
    Ok(Exit::Ok)
}
