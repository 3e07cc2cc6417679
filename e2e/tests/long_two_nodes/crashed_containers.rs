//! Watches the schedulers' containers and records those that crashed: a scheduler that the kernel
//! rejects exits with 1 and is restarted. (Other codes are of pods that were deleted before their
//! scheduler handled signals, or ran at all.)

use std::collections::BTreeSet;
use std::pin::pin;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, ResourceExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The exit code of scx_lab when it cannot attach.
const REJECTED: i32 = 1;

pub(crate) struct CrashedContainers {
    task: JoinHandle<BTreeSet<String>>,
    stop: oneshot::Sender<()>,
}

impl CrashedContainers {
    pub(crate) fn watch(pods: Api<Pod>) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut found = BTreeSet::new();
            let mut pods = pin!(watcher(pods, Config::default()));
            loop {
                tokio::select! {
                    _ = &mut stopped => return found,
                    Some(event) = pods.next() => match event {
                        Ok(Event::Apply(pod) | Event::InitApply(pod) | Event::Delete(pod)) => found.extend(crashed(&pod)),
                        Ok(Event::Init | Event::InitDone) | Err(_) => {}
                    }
                }
            }
        });
        Self { task, stop }
    }

    /// Those that crashed, each once.
    pub(crate) async fn finish(self) -> Vec<String> {
        let _ = self.stop.send(());
        self.task.await.unwrap().into_iter().collect()
    }
}

fn crashed(pod: &Pod) -> Vec<String> {
    let statuses = pod.status.as_ref();
    let statuses = statuses.and_then(|status| status.container_statuses.as_ref());
    let crashed = |status: &ContainerStatus| {
        let states = [&status.state, &status.last_state];
        let ended = states.into_iter().flatten();
        let ended = ended.filter_map(|state| state.terminated.clone());
        let bad: Vec<_> = ended.filter(|ended| ended.exit_code == REJECTED).collect();
        let (pod, times) = (pod.name_any(), status.restart_count);
        (times > 0 || !bad.is_empty()).then(|| format!("{pod}, restarted {times} times: {bad:?}"))
    };
    statuses.into_iter().flatten().filter_map(crashed).collect()
}
