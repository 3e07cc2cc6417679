//! What is counted and measured. Names and labels that controller-runtime has too mean the same
//! as there, so that existing dashboards and alerts go on working; our own begin with `sked_`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sked_plan::ObjectKey;

const CONTROLLER: &str = "schedext";

/// Seconds that a reconciliation takes: from nothing to write up to an API server that hangs.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// How a reconciliation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the names are the label's values")]
pub(crate) enum Ended {
    /// Nothing more to do.
    success,
    /// It failed and is tried again.
    error,
    /// It is to be looked at again after a while.
    requeue_after,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfController {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResult {
    controller: &'static str,
    result: Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQueue {
    name: &'static str,
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfLease {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSchedExt {
    namespace: String,
    schedext: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfName {
    namespace: String,
    schedext: String,
}

/// How many nodes of a SchedExt are in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesOf {
    pub(crate) namespace: String,
    pub(crate) schedext: String,
    pub(crate) state: &'static str,
    pub(crate) count: i64,
}

/// Everything that is counted and measured.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    results: Family<OfResult, Counter>,
    durations: Family<OfController, Histogram>,
    depth: Family<OfQueue, Gauge>,
    leader: Family<OfLease, Gauge>,
    schedexts: Family<OfState, Gauge>,
    nodes: Family<OfState, Gauge>,
    nodes_of: Family<OfSchedExt, Gauge>,
    ejections: Family<OfName, Counter>,
    /// Only of SchedExts that have had one.
    ejected: Mutex<BTreeMap<ObjectKey, u64>>,
}

/// What is looked up only when somebody asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// Keys that wait to be worked on.
    pub(crate) depth: usize,
    /// SchedExts by state.
    pub(crate) schedexts: Vec<(&'static str, usize)>,
    /// Nodes by state.
    pub(crate) nodes: Vec<(&'static str, usize)>,
    /// Each SchedExt's nodes by state.
    pub(crate) nodes_of: Vec<NodesOf>,
    /// Every SchedExt.
    pub(crate) names: BTreeSet<ObjectKey>,
}

impl Metrics {
    /// All of them, at zero. The library adds `_total` to a counter's name by itself.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let results = Family::default();
        let durations =
            Family::<OfController, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let depth = Family::default();
        let leader = Family::default();
        let schedexts = Family::default();
        let nodes = Family::default();
        let nodes_of = Family::default();
        let ejections = Family::default();
        registry.register(
            "controller_runtime_reconcile",
            "Reconciliations by how they ended",
            results.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciliations took",
            durations.clone(),
        );
        registry.register(
            "workqueue_depth",
            "SchedExts that wait to be worked on",
            depth.clone(),
        );
        registry.register(
            "leader_election_master_status",
            "Whether this manager leads",
            leader.clone(),
        );
        registry.register("sked_schedexts", "SchedExts by state", schedexts.clone());
        registry.register("sked_nodes", "Nodes by state", nodes.clone());
        registry.register(
            "sked_schedext_nodes",
            "Nodes of a SchedExt by what became of them",
            nodes_of.clone(),
        );
        registry.register(
            "sked_ejections",
            "How often a kernel threw the scheduler out",
            ejections.clone(),
        );
        for result in [Ended::success, Ended::error, Ended::requeue_after] {
            drop(results.get_or_create(&of_result(result)));
        }
        Self {
            registry,
            results,
            durations,
            depth,
            leader,
            schedexts,
            nodes,
            nodes_of,
            ejections,
            ejected: Mutex::default(),
        }
    }

    /// A reconciliation ended.
    pub(crate) fn reconciled(&self, result: Ended, took: Duration) {
        self.results.get_or_create(&of_result(result)).inc();
        let controller = OfController {
            controller: CONTROLLER,
        };
        let durations = self.durations.get_or_create(&controller);
        durations.observe(took.as_secs_f64());
    }

    /// Whether this manager leads.
    pub(crate) fn leader(&self, leads: bool) {
        let lease = OfLease {
            name: crate::leader::LEASE,
        };
        self.leader.get_or_create(&lease).set(i64::from(leads));
    }

    /// So many kernels threw out a SchedExt's scheduler.
    pub(crate) fn ejected(&self, key: &ObjectKey, times: u64) {
        if times > 0 {
            let mut ejected = self.ejected.lock().unwrap_or_else(PoisonError::into_inner);
            *ejected.entry(key.clone()).or_default() += times;
        }
    }

    /// The text that is served.
    pub(crate) fn text(&self, snapshot: &Snapshot) -> Result<String, Error> {
        let Snapshot {
            depth,
            schedexts,
            nodes,
            nodes_of,
            names,
        } = snapshot;
        // Held to the end: two who look at the same time would fill what the other has emptied.
        let mut ejected = self.ejected.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = OfQueue {
            name: CONTROLLER,
            controller: CONTROLLER,
        };
        self.depth.get_or_create(&queue).set(gauge(*depth));
        for (family, counts) in [(&self.schedexts, schedexts), (&self.nodes, nodes)] {
            for (state, count) in counts {
                family.get_or_create(&OfState { state }).set(gauge(*count));
            }
        }
        // A SchedExt that is gone has no nodes any more.
        self.nodes_of.clear();
        for one in nodes_of {
            let of = OfSchedExt {
                namespace: one.namespace.clone(),
                schedext: one.schedext.clone(),
                state: one.state,
            };
            self.nodes_of.get_or_create(&of).set(one.count);
        }
        ejected.retain(|key, _| names.contains(key));
        self.ejections.clear();
        // Also of those that have had none: a rate cannot see the first one otherwise.
        for key in names {
            let of = OfName {
                namespace: key.namespace.clone(),
                schedext: key.name.clone(),
            };
            let times = ejected.get(key).copied().unwrap_or_default();
            self.ejections.get_or_create(&of).inc_by(times);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn of_result(result: Ended) -> OfResult {
    OfResult {
        controller: CONTROLLER,
        result,
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promql;

    fn key(name: &str) -> ObjectKey {
        ObjectKey {
            namespace: "here".to_owned(),
            name: name.to_owned(),
        }
    }

    fn snapshot() -> Snapshot {
        Snapshot {
            depth: 7,
            schedexts: vec![("ready", 2)],
            nodes: vec![("free", 5)],
            nodes_of: vec![NodesOf {
                namespace: "here".to_owned(),
                schedext: "one".to_owned(),
                state: "attached",
                count: 4,
            }],
            names: [key("one"), key("two")].into(),
        }
    }

    #[test]
    fn names_and_labels_are_those_of_existing_dashboards() {
        let metrics = Metrics::new();
        metrics.reconciled(Ended::success, Duration::from_millis(3));
        metrics.reconciled(Ended::error, Duration::from_millis(3));
        metrics.leader(true);
        metrics.ejected(&key("one"), 2);
        let text = metrics.text(&snapshot()).unwrap();
        for line in [
            r#"controller_runtime_reconcile_total{controller="schedext",result="success"} 1"#,
            r#"controller_runtime_reconcile_total{controller="schedext",result="error"} 1"#,
            r#"controller_runtime_reconcile_total{controller="schedext",result="requeue_after"} 0"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="schedext"} 2"#,
            r#"controller_runtime_reconcile_time_seconds_bucket{le="0.005",controller="schedext"} 2"#,
            r#"workqueue_depth{name="schedext",controller="schedext"} 7"#,
            r#"leader_election_master_status{name="b4c95cb3.schedkit.io"} 1"#,
            r#"sked_schedexts{state="ready"} 2"#,
            r#"sked_nodes{state="free"} 5"#,
            r#"sked_schedext_nodes{namespace="here",schedext="one",state="attached"} 4"#,
            r#"sked_ejections_total{namespace="here",schedext="one"} 2"#,
            r#"sked_ejections_total{namespace="here",schedext="two"} 0"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn ejections_add_up_and_go_with_their_schedext() {
        let metrics = Metrics::new();
        let counted = |names: &[&str]| {
            let names = names.iter().map(|name| key(name)).collect();
            let snapshot = Snapshot {
                names,
                ..Snapshot::default()
            };
            let text = metrics.text(&snapshot).unwrap();
            let lines = text.lines();
            let counts = lines.filter(|line| line.starts_with("sked_ejections_total"));
            counts
                .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(counted(&["one"]), [0]);
        metrics.ejected(&key("one"), 2);
        metrics.ejected(&key("one"), 0);
        metrics.ejected(&key("one"), 1);
        // However often somebody looks.
        assert_eq!(counted(&["one"]), [3]);
        assert_eq!(counted(&["one"]), [3]);
        assert_eq!(counted(&[]), Vec::<u64>::new());
        assert_eq!(counted(&["one"]), [0], "another one of that name");
    }

    #[test]
    fn alerts_and_dashboard_are_about_what_is_measured() {
        let metrics = Metrics::new();
        metrics.leader(true);
        metrics.reconciled(Ended::success, Duration::from_millis(3));
        let measured = promql::measured(&metrics.text(&snapshot()).unwrap());
        let asked = promql::asked_of_managers();
        assert!(asked.len() >= 8, "{asked:?}");
        for name in asked {
            assert!(measured.contains(&name), "{name} is not in {measured:?}");
        }
    }
}
