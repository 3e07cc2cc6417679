//! Debounces the eligibility of nodes: a change must last for a while before claims act on it.
//!
//! A report that arrives before the pod's status makes our own scheduler look foreign, and a foreign
//! scheduler may only be replaced by the next one: neither is a reason to move pods. On a node
//! without pods of ours nothing has to move, so a foreign scheduler excludes it at once, before a
//! pod of ours fails there. A node that had such pods a moment ago is debounced as well: they may
//! only have lost their DaemonSet, which is created again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::eligibility::{Eligibility, ExclusionReason};
use crate::{Node, NodeName};

/// How long a change must last.
const DEBOUNCE: Duration = Duration::from_secs(5);

/// A node as it is at this moment.
#[derive(Clone, Debug)]
pub struct NodeView {
    pub node: Arc<Node>,
    /// `None` while its kernel is unknown.
    pub eligibility: Option<Eligibility>,
    /// Whether any pod of ours is or will be there.
    pub has_pods: bool,
}

/// Times are those of a clock that never goes back.
#[derive(Debug, Default)]
pub struct Debounce {
    /// Since when the eligibility of nodes has differed from their labels.
    pending: HashMap<NodeName, (Eligibility, Instant)>,
    /// The nodes that had pods of ours the last time.
    with_pods: HashSet<NodeName>,
}

impl Debounce {
    /// The debounced eligibility, and when to call this again. A node whose change is too recent
    /// keeps its former value: eligible, or unknown if its label says that it is foreign.
    pub fn settle(
        &mut self,
        seen: impl IntoIterator<Item = NodeView>,
        now: Instant,
    ) -> (BTreeMap<NodeName, Eligibility>, Option<Instant>) {
        let mut before = std::mem::take(&mut self.pending);
        let had_pods = std::mem::take(&mut self.with_pods);
        let mut settled = BTreeMap::new();
        let mut due = None;
        for view in seen {
            let name = view.node.name.clone();
            if view.has_pods {
                self.with_pods.insert(name.clone());
            }
            let Some(eligibility) = view.eligibility else {
                continue;
            };
            let labelled = view.node.labels.get(sked_api::label::OWNER);
            let labelled =
                labelled.is_some_and(|value| value == ExclusionReason::Foreign(None).label_value());
            let has_pods = view.has_pods || had_pods.contains(&name) || before.contains_key(&name);
            let moves_nothing = is_foreign(&eligibility) && !has_pods;
            if is_foreign(&eligibility) == labelled || moves_nothing || is_unsupported(&eligibility)
            {
                settled.insert(name, eligibility);
                continue;
            }
            let since = match before.remove(&name) {
                Some((old, since)) if is_foreign(&old) == is_foreign(&eligibility) => since,
                _ => now,
            };
            if now >= since + DEBOUNCE {
                settled.insert(name.clone(), eligibility.clone());
            } else {
                due = Some(due.map_or(since + DEBOUNCE, |due: Instant| due.min(since + DEBOUNCE)));
                if !labelled {
                    settled.insert(name.clone(), Eligibility::Eligible);
                }
            }
            self.pending.insert(name, (eligibility, since));
        }
        (settled, due)
    }
}

fn is_foreign(eligibility: &Eligibility) -> bool {
    matches!(
        eligibility,
        Eligibility::Excluded(ExclusionReason::Foreign(_))
    )
}

fn is_unsupported(eligibility: &Eligibility) -> bool {
    matches!(
        eligibility,
        Eligibility::Excluded(ExclusionReason::Unsupported(_))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uid;

    fn node(label: Option<&str>) -> Node {
        let label = label.map(|value| (sked_api::label::OWNER.to_owned(), value.to_owned()));
        Node {
            name: "node1".into(),
            uid: Uid::default(),
            boot_id: String::new(),
            labels: label.into_iter().collect(),
            taints: Vec::new(),
        }
    }

    fn foreign() -> Eligibility {
        Eligibility::Excluded(ExclusionReason::Foreign(None))
    }

    fn view(
        debounce: &mut Debounce,
        node: &Node,
        eligibility: Option<Eligibility>,
        now: Instant,
    ) -> (Option<Eligibility>, bool) {
        let view = NodeView {
            node: Arc::new(node.clone()),
            eligibility,
            has_pods: true,
        };
        let (mut settled, due) = debounce.settle([view], now);
        (settled.remove(&node.name), due.is_some())
    }

    #[test]
    fn without_pods_of_ours_a_foreign_scheduler_counts_at_once() {
        let view = NodeView {
            node: Arc::new(node(None)),
            eligibility: Some(foreign()),
            has_pods: false,
        };
        let (settled, due) = Debounce::default().settle([view], Instant::now());
        assert_eq!(
            (settled.get(&"node1".into()), due),
            (Some(&foreign()), None)
        );
    }

    /// `kubectl delete daemonset --cascade=orphan`: the pods go on, and get a new DaemonSet.
    #[test]
    fn pods_that_lost_their_daemonset_do_not_make_their_node_foreign() {
        let mut debounce = Debounce::default();
        let (free, begin) = (node(None), Instant::now());
        let seen = |has_pods| NodeView {
            node: Arc::new(free.clone()),
            eligibility: Some(match has_pods {
                true => Eligibility::Eligible,
                false => foreign(),
            }),
            has_pods,
        };
        for (second, has_pods) in [(0, true), (1, false), (2, false), (3, true), (4, true)] {
            let now = begin + Duration::from_secs(second);
            let (settled, _) = debounce.settle([seen(has_pods)], now);
            let settled = settled.get(&free.name);
            assert_eq!(settled, Some(&Eligibility::Eligible), "second {second}");
        }
        for (second, expected) in [(5, Eligibility::Eligible), (10, foreign())] {
            let now = begin + Duration::from_secs(second);
            let (settled, _) = debounce.settle([seen(false)], now);
            assert_eq!(settled.get(&free.name), Some(&expected), "second {second}");
        }
    }

    #[test]
    fn a_foreign_scheduler_counts_and_ends_after_the_debounce_time() {
        let mut debounce = Debounce::default();
        let (free, labelled) = (node(None), node(Some("foreign")));
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut see =
            |node, eligibility, second| view(&mut debounce, node, eligibility, at(second));
        assert_eq!(
            see(&free, Some(foreign()), 0),
            (Some(Eligibility::Eligible), true)
        );
        assert_eq!(
            see(&free, Some(Eligibility::Eligible), 4),
            (Some(Eligibility::Eligible), false)
        );
        assert_eq!(
            see(&free, Some(foreign()), 5),
            (Some(Eligibility::Eligible), true)
        );
        assert_eq!(see(&free, Some(foreign()), 10), (Some(foreign()), false));
        assert_eq!(
            see(&labelled, Some(foreign()), 11),
            (Some(foreign()), false)
        );
        assert_eq!(
            see(&labelled, Some(Eligibility::Eligible), 12),
            (None, true)
        );
        assert_eq!(
            see(&labelled, Some(Eligibility::Eligible), 17),
            (Some(Eligibility::Eligible), false)
        );
        assert_eq!(see(&labelled, None, 18), (None, false));
    }

    #[test]
    fn a_kernel_without_sched_ext_counts_at_once() {
        let old = Eligibility::Excluded(ExclusionReason::Unsupported("6.1.0".to_owned()));
        let mut debounce = Debounce::default();
        let seen = view(
            &mut debounce,
            &node(None),
            Some(old.clone()),
            Instant::now(),
        );
        assert_eq!(seen, (Some(old), false));
    }
}
