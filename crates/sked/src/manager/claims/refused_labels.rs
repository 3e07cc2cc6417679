//! Which labels are not tried for a while, because they were not taken. Used by the claims alone;
//! the clock is theirs.
//!
//! Each node waits by itself: a policy may refuse one and take the others. A label that is to say
//! something else by now is something new and does not wait.

use std::collections::HashMap;
use std::time::Duration;

use sked_plan::NodeName;
use sked_plan::claim::LabelWrite;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Labels that wait.
#[derive(Debug, Default)]
pub(super) struct Patience {
    waiting: HashMap<NodeName, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    write: LabelWrite,
    times: u32,
    until: Instant,
}

impl Patience {
    /// Those that may be tried now, and when the next of the others may. What is not asked for any
    /// more is forgotten.
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

    /// This one was taken.
    pub(super) fn taken(&mut self, node: &NodeName) {
        self.waiting.remove(node);
    }

    /// This one was not: it waits, longer each time.
    pub(super) fn refused(&mut self, write: LabelWrite, now: Instant) {
        let before = self.waiting.get(&write.node).map_or(0, |one| one.times);
        let delay = FIRST.saturating_mul(1 << before.min(16)).min(LONGEST);
        let waiting = Waiting {
            times: before + 1,
            until: now + delay,
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
    fn a_refused_label_waits_longer_each_time_and_nobody_else_does() {
        let mut patience = Patience::default();
        let mut now = Instant::now();
        let both = || vec![write("a", None), write("b", None)];
        assert_eq!(patience.due(both(), now), (both(), None));
        patience.refused(write("a", None), now);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let until = now + Duration::from_secs(seconds);
            let rest = (vec![write("b", None)], Some(until));
            assert_eq!(patience.due(both(), now), rest);
            assert_eq!(patience.due(both(), until).0, both());
            patience.refused(write("a", None), until);
            now = until;
        }
        patience.taken(&"a".into());
        assert_eq!(patience.due(both(), now), (both(), None));
    }

    #[test]
    fn what_changed_does_not_wait_and_what_is_not_wanted_is_forgotten() {
        let mut patience = Patience::default();
        let now = Instant::now();
        patience.refused(write("a", None), now);
        let other = vec![write("a", Some("x"))];
        assert_eq!(patience.due(other.clone(), now), (other, None));
        patience.refused(write("a", None), now);
        assert_eq!(patience.due(Vec::new(), now), (Vec::new(), None));
        assert_eq!(patience.due(vec![write("a", None)], now).0.len(), 1);
    }
}
