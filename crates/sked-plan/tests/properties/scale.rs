//! Large clusters: that claims handle them; prints how long it takes.

use std::sync::Arc;
use std::time::Instant;

use sked_api::{Pool, SchedExtSpec};
use sked_plan::check::check_claims;
use sked_plan::claim::claim;
use sked_plan::{Fleet, Node, Uid};

use crate::generate::named;

fn node(at: usize) -> Arc<Node> {
    let label = |key: &str, value: String| (key.to_owned(), value);
    let mut labels = std::collections::BTreeMap::from([
        label("kubernetes.io/hostname", format!("node{at}")),
        label("pool", format!("p{}", at % 4)),
        label("zone", format!("z{}", at % 3)),
    ]);
    labels.extend((0..12).map(|number| label(&format!("example.com/label-{number}"), "x".into())));
    Arc::new(Node {
        name: format!("node{at:05}").into(),
        uid: Uid(format!("uid-{at}")),
        boot_id: String::new(),
        labels,
        taints: Vec::new(),
    })
}

fn fleet(schedexts: u64, nodes: usize) -> Fleet {
    let pool = |at: u64| Pool {
        name: format!("pool{at}"),
        node_selector: [("pool".to_owned(), format!("p{at}"))].into(),
        ..Pool::default()
    };
    let one = |at: u64| {
        let spec = SchedExtSpec {
            sched: "registry.example/one:1".to_owned(),
            node_selector: match at % 2 {
                0 => Default::default(),
                _ => [("zone".to_owned(), format!("z{}", at % 3))].into(),
            },
            pools: (0..3).map(pool).collect(),
            ..SchedExtSpec::default()
        };
        Arc::new(named(&format!("sx{at}"), at, 0, spec))
    };
    Fleet {
        schedexts: (0..schedexts).map(one).collect(),
        nodes: (0..nodes).map(node).collect(),
        ..Fleet::default()
    }
}

#[test]
fn large_clusters_have_one_owner_for_each_node() {
    for (schedexts, nodes) in [(20, 5_000), (1_000, 0)] {
        let fleet = fleet(schedexts, nodes);
        let begun = Instant::now();
        let claims = claim(&fleet);
        let claimed = begun.elapsed();
        assert_eq!(check_claims(&fleet, &claims), vec![]);
        let has = |assignment: &Arc<sked_plan::assignment::Assignment>| -> usize {
            assignment.parts.values().map(|part| part.nodes.len()).sum()
        };
        assert_eq!(claims.assignments.values().map(has).sum::<usize>(), nodes);
        assert_eq!(claims.writes.len(), nodes);
        let checked = begun.elapsed() - claimed;
        eprintln!(
            "{schedexts} SchedExts, {nodes} nodes: {claimed:?} to claim, {checked:?} to check"
        );
    }
}
