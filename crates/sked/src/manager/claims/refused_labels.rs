//! Backoff for owner labels that could not be written, for each node by itself: a policy may reject
//! one node and accept the others. A write with other values is new and does not wait.

use std::collections::HashMap;
use std::time::Duration;

use sked_plan::NodeName;
use sked_plan::claim::LabelWrite;
use tokio::time::Instant;

use crate::backoff::Backoff;

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// Label writes that failed and wait for their next attempt.
#[derive(Debug, Default)]
pub(super) struct RefusedLabels {
    waiting: HashMap<NodeName, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    write: LabelWrite,
    backoff: Backoff,
    until: Instant,
}

impl RefusedLabels {
    /// The writes that may be tried now, and when the next of the others may be. Writes that are
    /// not needed any more are dropped.
    pub(super) fn due(
        &mut self,
        writes: Vec<LabelWrite>,
        now: Instant,
    ) -> (Vec<LabelWrite>, Option<Instant>) {
        let mut before = std::mem::take(&mut self.waiting);
        let mut due = Vec::new();
        for write in writes {
            let waiting = before.remove(&write.node).filter(|one| one.write == write);
            let waits = waiting.as_ref().is_some_and(|one| now < one.until);
            if let Some(waiting) = waiting {
                self.waiting.insert(write.node.clone(), waiting);
            }
            if !waits {
                due.push(write);
            }
        }
        let later = self.waiting.values().map(|one| one.until);
        (due, later.filter(|until| now < *until).min())
    }

    pub(super) fn succeeded(&mut self, node: &NodeName) {
        self.waiting.remove(node);
    }

    pub(super) fn failed(&mut self, write: LabelWrite, now: Instant) {
        let before = self.waiting.get(&write.node);
        let mut backoff = before.map_or(BACKOFF, |one| one.backoff);
        let waiting = Waiting {
            until: now + backoff.failed(),
            backoff,
            write,
        };
        self.waiting.insert(waiting.write.node.clone(), waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(node: &str, from: Option<&str>) -> LabelWrite {
        LabelWrite {
            node: node.into(),
            from: from.map(str::to_owned),
            to: None,
        }
    }

    #[test]
    fn a_refused_label_waits_longer_each_time_and_no_other_does() {
        let mut refused = RefusedLabels::default();
        let mut now = Instant::now();
        let both = || vec![write("a", None), write("b", None)];
        assert_eq!(refused.due(both(), now), (both(), None));
        refused.failed(write("a", None), now);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let until = now + Duration::from_secs(seconds);
            let rest = (vec![write("b", None)], Some(until));
            assert_eq!(refused.due(both(), now), rest);
            assert_eq!(refused.due(both(), until).0, both());
            refused.failed(write("a", None), until);
            now = until;
        }
        refused.succeeded(&"a".into());
        assert_eq!(refused.due(both(), now), (both(), None));
    }

    #[test]
    fn a_changed_write_does_not_wait_and_one_that_is_not_needed_is_dropped() {
        let mut refused = RefusedLabels::default();
        let now = Instant::now();
        refused.failed(write("a", None), now);
        let other = vec![write("a", Some("x"))];
        assert_eq!(refused.due(other.clone(), now), (other, None));
        refused.failed(write("a", None), now);
        assert_eq!(refused.due(Vec::new(), now), (Vec::new(), None));
        assert_eq!(refused.due(vec![write("a", None)], now).0.len(), 1);
    }
}
