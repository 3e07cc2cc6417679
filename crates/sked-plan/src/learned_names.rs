//! What schedulers are called, as the kernels told it: learned from the first pod of a template that
//! is attached, kept in the SchedExt's status, and held against all others of that template. Another
//! template may be another scheduler, so nothing is held against its pods.

use std::collections::HashMap;

use schedkit_core::{OpsName, SchedulerName};
use sked_api::{SchedExt, SchedExtStatus};

use crate::name::Uid;
use crate::observed::{LiveDaemonSet, LivePod};
use crate::part::parts;

/// What was learned, by DaemonSet.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<Uid, Learned>);

#[derive(Clone, Debug)]
struct Learned {
    template: String,
    scheduler: SchedulerName,
}

impl Names {
    /// Adds what a SchedExt's status has about these DaemonSets.
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
            let learned = part.and_then(|part| said(status, part.pool_name()));
            if let Some(learned) = learned {
                self.0.insert(live.uid.clone(), learned);
            }
        }
    }

    /// What a pod's scheduler is called, if it was learned from a pod of the same template.
    pub fn of(&self, pod: &LivePod) -> Option<&SchedulerName> {
        let learned = self.0.get(&pod.daemonset)?;
        (learned.template == pod.template).then_some(&learned.scheduler)
    }
}

fn said(status: &SchedExtStatus, pool: Option<&str>) -> Option<Learned> {
    let (ops, template) = match pool {
        None => (&status.ops, &status.ops_template),
        Some(pool) => {
            let pool = status.pools.iter().find(|one| one.name == pool)?;
            (&pool.ops, &pool.ops_template)
        }
    };
    let ops: OpsName = ops.as_ref()?.parse().ok()?;
    Some(Learned {
        template: template.clone()?,
        scheduler: ops.scheduler(),
    })
}
