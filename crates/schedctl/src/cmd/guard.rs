//! `schedctl guard`: the process that ends a trial, started by schedctl. See [`crate::guard`].

use schedkit_host::HostRoot;
use schedkit_runtime::ContainerId;

use crate::drivers::open;
use crate::execute::Executor;
use crate::exit::Exit;
use crate::guard;
use crate::guard_process::report_ready;
use crate::kernel::KernelMonitor;
use crate::settings::Settings;
use crate::state_dir::StateDir;

pub(super) async fn guard(
    candidate: &ContainerId,
    root: &HostRoot,
    settings: &Settings,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    let _guard_lock = state.guard_lock()?;
    report_ready()?;
    let endpoint = settings.runtimes().chosen;
    let executor = Executor {
        driver: &open(&endpoint, &settings.registry),
        runtime: endpoint.runtime,
        kernel: &KernelMonitor::new(root.clone()),
        state: &state,
        start_guard: &|_| Ok(()),
    };
    let end = guard::watch(&executor, candidate).await;
    tracing::info!("the trial of {candidate} has ended: {end}");
    Ok(Exit::Ok)
}
