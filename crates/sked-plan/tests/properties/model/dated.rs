//! The times in objects whose types are not the model's own.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sked_api::SchedExtStatus;
use sked_plan::Node;

use super::objects::{Record, SchedExt};
use super::times::{Dated, seconds, timestamp};

impl Dated for Node {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        let taints = self.taints.iter_mut();
        let times = taints.filter_map(|taint| taint.time_added.as_mut());
        times.for_each(|time| visit_time(time, visit));
    }
}

impl Dated for SchedExt {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        let mut status = SchedExtStatus::clone(&self.record.status);
        let mut changes = false;
        let mut visit = |time: &mut Time| {
            let before = time.0;
            visit_time(time, visit);
            changes |= before != time.0;
        };
        if let Some(rollout) = &mut status.rollout {
            visit(&mut rollout.since);
            let ends = rollout.failures.iter_mut().flat_map(|one| &mut one.ends);
            for end in ends {
                visit(&mut end.at);
                visit(&mut end.seen);
            }
        }
        for one in &mut status.quarantined {
            visit(&mut one.since);
        }
        if changes {
            self.record = Record::new(status);
        }
    }
}

fn visit_time(time: &mut Time, visit: &mut dyn FnMut(&mut i64)) {
    let mut at = seconds(time.0);
    visit(&mut at);
    time.0 = timestamp(at);
}

/// What of a status decides anything: the others are for people, and have times of their own.
pub(super) fn record_of(status: SchedExtStatus) -> SchedExtStatus {
    let long_ago = || Time(Timestamp::UNIX_EPOCH);
    let mut kept = SchedExtStatus {
        rollout: status.rollout,
        last_good: status.last_good,
        previous_good: status.previous_good,
        rejected: status.rejected,
        quarantined: status.quarantined,
        handled_request: status.handled_request,
        ops: status.ops,
        ops_template: status.ops_template,
        ..SchedExtStatus::default()
    };
    for good in [&mut kept.last_good, &mut kept.previous_good] {
        good.iter_mut().for_each(|good| good.since = long_ago());
    }
    kept.rejected
        .iter_mut()
        .for_each(|one| one.time = long_ago());
    kept
}
