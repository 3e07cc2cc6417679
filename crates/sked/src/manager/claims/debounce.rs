//! What a node is good for, once it has lasted. A report that is a moment behind a pod makes a
//! scheduler of ours look like somebody else's, and somebody else's may only be changing places
//! with the next: neither is a reason to move anything. Where no pod of ours is, nothing has to
//! move, and a node that is taken is barred at once, before anything of ours is refused there.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sked_plan::NodeName;
use sked_plan::standing::{Bar, Standing};
use tokio::time::Instant;

use crate::observe::Looks;

/// How long.
const LASTING: Duration = Duration::from_secs(5);

/// Since when nodes have been other than their labels say.
#[derive(Debug, Default)]
pub(super) struct Lasting(HashMap<NodeName, (Standing, Instant)>);

impl Lasting {
    /// What has lasted, and when to look again. A node whose change has not lasted yet is as it was:
    /// good for us, or, with the label of a foreign scheduler, not known.
    pub(super) fn settle(
        &mut self,
        seen: impl IntoIterator<Item = Looks>,
        now: Instant,
    ) -> (BTreeMap<NodeName, Standing>, Option<Instant>) {
        let mut before = std::mem::take(&mut self.0);
        let mut settled = BTreeMap::new();
        let mut due = None;
        for looks in seen {
            let Some(standing) = looks.standing else {
                continue;
            };
            let name = looks.node.name.clone();
            let labelled = looks.node.labels.get(sked_api::label::OWNER);
            let labelled = labelled.is_some_and(|word| word == Bar::Foreign(None).word());
            let moves_nothing = is_foreign(&standing) && !looks.has_pods;
            if is_foreign(&standing) == labelled || moves_nothing || is_unsupported(&standing) {
                settled.insert(name, standing);
                continue;
            }
            let since = match before.remove(&name) {
                Some((old, since)) if is_foreign(&old) == is_foreign(&standing) => since,
                _ => now,
            };
            if now >= since + LASTING {
                settled.insert(name.clone(), standing.clone());
            } else {
                due = Some(due.map_or(since + LASTING, |due: Instant| due.min(since + LASTING)));
                if !labelled {
                    settled.insert(name.clone(), Standing::Free);
                }
            }
            self.0.insert(name, (standing, since));
        }
        (settled, due)
    }
}

fn is_foreign(standing: &Standing) -> bool {
    matches!(standing, Standing::Barred(Bar::Foreign(_)))
}

fn is_unsupported(standing: &Standing) -> bool {
    matches!(standing, Standing::Barred(Bar::Unsupported(_)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sked_plan::{Node, Uid};

    use super::*;

    fn node(label: Option<&str>) -> Node {
        let label = label.map(|word| (sked_api::label::OWNER.to_owned(), word.to_owned()));
        Node {
            name: "node1".into(),
            uid: Uid::default(),
            boot_id: String::new(),
            labels: label.into_iter().collect(),
            taints: Vec::new(),
        }
    }

    fn foreign() -> Standing {
        Standing::Barred(Bar::Foreign(None))
    }

    fn look(
        lasting: &mut Lasting,
        node: &Node,
        standing: Option<Standing>,
        now: Instant,
    ) -> (Option<Standing>, bool) {
        let looks = Looks {
            node: Arc::new(node.clone()),
            standing,
            has_pods: true,
        };
        let (mut settled, due) = lasting.settle([looks], now);
        (settled.remove(&node.name), due.is_some())
    }

    #[tokio::test]
    async fn where_nothing_of_ours_is_a_foreign_scheduler_counts_at_once() {
        let looks = Looks {
            node: Arc::new(node(None)),
            standing: Some(foreign()),
            has_pods: false,
        };
        let (settled, due) = Lasting::default().settle([looks], Instant::now());
        assert_eq!(
            (settled.get(&"node1".into()), due),
            (Some(&foreign()), None)
        );
    }

    #[tokio::test]
    async fn a_foreign_scheduler_counts_once_it_has_lasted_and_goes_once_it_is_gone_for_good() {
        let mut lasting = Lasting::default();
        let (free, labelled) = (node(None), node(Some("foreign")));
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut see = |node, standing, second| look(&mut lasting, node, standing, at(second));
        assert_eq!(see(&free, Some(foreign()), 0), (Some(Standing::Free), true));
        assert_eq!(
            see(&free, Some(Standing::Free), 4),
            (Some(Standing::Free), false)
        );
        assert_eq!(see(&free, Some(foreign()), 5), (Some(Standing::Free), true));
        assert_eq!(see(&free, Some(foreign()), 10), (Some(foreign()), false));
        assert_eq!(
            see(&labelled, Some(foreign()), 11),
            (Some(foreign()), false)
        );
        assert_eq!(see(&labelled, Some(Standing::Free), 12), (None, true));
        assert_eq!(
            see(&labelled, Some(Standing::Free), 17),
            (Some(Standing::Free), false)
        );
        assert_eq!(see(&labelled, None, 18), (None, false));
    }

    #[tokio::test]
    async fn a_kernel_without_sched_ext_need_not_last() {
        let old = Standing::Barred(Bar::Unsupported("6.1.0".to_owned()));
        let mut lasting = Lasting::default();
        let seen = look(&mut lasting, &node(None), Some(old.clone()), Instant::now());
        assert_eq!(seen, (Some(old), false));
    }
}
