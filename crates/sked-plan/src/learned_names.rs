//! The names that kernels have for schedulers. A name is known when the kernels of two nodes with
//! the same pod template and architecture have it; it is stored in the SchedExt's status, and all
//! other pods of that template are expected to have the same name. Another template may be another
//! scheduler, so it has its own name.

use std::collections::HashMap;

use schedkit_core::{OpsName, SchedulerName};
use sked_api::{SchedExt, SchedExtStatus};

use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::LivePod;
use crate::name::Uid;
use crate::part::parts;

/// By DaemonSet.
#[derive(Clone, Debug, Default)]
pub struct LearnedNames(HashMap<Uid, LearnedName>);

#[derive(Clone, Debug)]
struct LearnedName {
    template: String,
    scheduler: SchedulerName,
}

impl LearnedNames {
    /// Adds the names that a SchedExt's status has for these DaemonSets.
    pub fn add<'a>(
        &mut self,
        schedext: &SchedExt,
        daemonsets: impl Iterator<Item = &'a LiveDaemonSet>,
    ) {
        let Some(status) = &schedext.status else {
            return;
        };
        for live in daemonsets {
            let part = parts(schedext).find(|part| part.key() == live.key);
            let learned = part.and_then(|part| stored(status, part.pool_name()));
            if let Some(learned) = learned {
                self.0.insert(live.uid.clone(), learned);
            }
        }
    }

    /// The name of the pod's template, if it is known.
    pub fn of(&self, pod: &LivePod) -> Option<&SchedulerName> {
        let learned = self.0.get(&pod.daemonset)?;
        (learned.template == pod.template).then_some(&learned.scheduler)
    }
}

fn stored(status: &SchedExtStatus, pool: Option<&str>) -> Option<LearnedName> {
    let (ops, template) = match pool {
        None => (&status.ops, &status.ops_template),
        Some(pool) => {
            let pool = status.pools.iter().find(|one| one.name == pool)?;
            (&pool.ops, &pool.ops_template)
        }
    };
    let ops: OpsName = ops.as_ref()?.parse().ok()?;
    Some(LearnedName {
        template: template.clone()?,
        scheduler: ops.scheduler(),
    })
}
