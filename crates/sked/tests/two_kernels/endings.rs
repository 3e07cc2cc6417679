//! Sees every state of the schedulers' containers, and remembers those that fell: a scheduler that
//! the kernel refuses ends with exit code 1 and is started again. (Other codes are of pods that were
//! deleted before their scheduler listened to signals, or ran at all.)

use std::collections::BTreeSet;
use std::pin::pin;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, ResourceExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How scx_lab ends when it cannot attach.
const REFUSED: i32 = 1;

pub(crate) struct Endings {
    task: JoinHandle<BTreeSet<String>>,
    over: oneshot::Sender<()>,
}

impl Endings {
    pub(crate) fn watch(pods: Api<Pod>) -> Self {
        let (over, mut end) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut bad = BTreeSet::new();
            let mut pods = pin!(watcher(pods, Config::default()));
            loop {
                tokio::select! {
                    _ = &mut end => return bad,
                    Some(event) = pods.next() => match event {
                        Ok(Event::Apply(pod) | Event::InitApply(pod) | Event::Delete(pod)) => bad.extend(fallen(&pod)),
                        Ok(Event::Init | Event::InitDone) | Err(_) => {}
                    }
                }
            }
        });
        Self { task, over }
    }

    /// Those that fell, each once.
    pub(crate) async fn finish(self) -> Vec<String> {
        let _ = self.over.send(());
        self.task.await.unwrap().into_iter().collect()
    }
}

fn fallen(pod: &Pod) -> Vec<String> {
    let statuses = pod.status.as_ref();
    let statuses = statuses.and_then(|status| status.container_statuses.as_ref());
    let fallen = |status: &ContainerStatus| {
        let states = [&status.state, &status.last_state];
        let ended = states.into_iter().flatten();
        let ended = ended.filter_map(|state| state.terminated.clone());
        let bad: Vec<_> = ended.filter(|ended| ended.exit_code == REFUSED).collect();
        let (pod, times) = (pod.name_any(), status.restart_count);
        (times > 0 || !bad.is_empty()).then(|| format!("{pod}, started again {times}×: {bad:?}"))
    };
    statuses.into_iter().flatten().filter_map(fallen).collect()
}
