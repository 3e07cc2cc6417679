//! The manager's metrics. Names and labels that controller-runtime, client-go or Prometheus' client
//! libraries have too mean the same as there, so that existing dashboards and alerts work; our own
//! begin with `sked_`.

mod process;
mod queue;
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use sked_plan::ObjectKey;

use crate::client::FinishedRequest;

use process::Process;
use queue::QueueGauges;
use requests::RequestMetrics;

pub(crate) use queue::{QueueMetrics, QueueSnapshot};

const CONTROLLER: &str = "schedext";

/// Durations of reconciliations in seconds: from nothing to write up to an API server that hangs.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// The result of a reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the names are the label's values")]
pub(crate) enum ReconcileResult {
    success,
    error,
    requeue_after,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfController {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResult {
    controller: &'static str,
    result: ReconcileResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfLease {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPolicy {
    policy: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfVerdict {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfFile {
    file: &'static str,
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPhase {
    namespace: String,
    schedext: String,
    phase: &'static str,
}

/// The phase of a SchedExt's roll-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhaseOf {
    pub(crate) schedext: ObjectKey,
    pub(crate) phase: &'static str,
    pub(crate) quarantined: usize,
}

/// The number of nodes of a SchedExt in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesOf {
    pub(crate) namespace: String,
    pub(crate) schedext: String,
    pub(crate) state: &'static str,
    pub(crate) count: i64,
}

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    results: Family<OfResult, Counter>,
    errors: Counter,
    durations: Family<OfController, Histogram>,
    queue: QueueMetrics,
    queue_gauges: QueueGauges,
    requests: RequestMetrics,
    leader: Family<OfLease, Gauge>,
    policies: Family<OfPolicy, Gauge>,
    schedexts: Family<OfState, Gauge>,
    nodes: Family<OfState, Gauge>,
    nodes_of: Family<OfSchedExt, Gauge>,
    phases: Family<OfPhase, Gauge>,
    quarantined: Family<OfName, Gauge>,
    ejections: Family<OfName, Counter>,
    rollbacks: Family<OfName, Counter>,
    verification: Family<OfState, Gauge>,
    policy_readable: Family<OfFile, Gauge>,
    verifications: Family<OfVerdict, Counter>,
    root_checked: Gauge,
    root_refreshes: Family<OfVerdict, Counter>,
    /// Only of SchedExts to which something happened.
    happened: Mutex<BTreeMap<ObjectKey, Happened>>,
}

/// What happened to a SchedExt since the manager leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Happened {
    pub(crate) ejections: u64,
    pub(crate) rollbacks: u64,
}

/// Values that are computed at each scrape.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) queue: QueueSnapshot,
    pub(crate) schedexts: Vec<(&'static str, usize)>,
    pub(crate) nodes: Vec<(&'static str, usize)>,
    pub(crate) nodes_of: Vec<NodesOf>,
    pub(crate) phases: Vec<PhaseOf>,
    /// SchedExts by the state of their verification.
    pub(crate) verification: Vec<(&'static str, usize)>,
    /// All SchedExts.
    pub(crate) names: BTreeSet<ObjectKey>,
}

impl Metrics {
    /// The registry appends `_total` to the names of counters.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let results: Family<OfResult, Counter> = register(
            &mut registry,
            "controller_runtime_reconcile",
            "Reconciliations by result",
        );
        let durations =
            Family::<OfController, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciliations took",
            durations.clone(),
        );
        let errors: Family<OfController, Counter> = register(
            &mut registry,
            "controller_runtime_reconcile_errors",
            "Reconciliations that failed",
        );
        let (queue, queue_gauges) = queue::register(&mut registry, CONTROLLER);
        let requests = RequestMetrics::register(&mut registry);
        registry.register_collector(Box::new(Process::new()));
        for result in [
            ReconcileResult::success,
            ReconcileResult::error,
            ReconcileResult::requeue_after,
        ] {
            drop(results.get_or_create(&of_result(result)));
        }
        Self {
            results,
            errors: errors.get_or_create(&OF_CONTROLLER).clone(),
            durations,
            queue,
            queue_gauges,
            requests,
            leader: register(
                &mut registry,
                "leader_election_master_status",
                "Whether this manager is the leader",
            ),
            policies: register(
                &mut registry,
                "sked_policy_enforced",
                "Whether an admission policy restricts this manager's account",
            ),
            schedexts: register(&mut registry, "sked_schedexts", "SchedExts by state"),
            nodes: register(&mut registry, "sked_nodes", "Nodes by state"),
            nodes_of: register(
                &mut registry,
                "sked_schedext_nodes",
                "Nodes of a SchedExt by state",
            ),
            ejections: register(
                &mut registry,
                "sked_ejections",
                "How often a kernel ejected the scheduler",
            ),
            phases: register(
                &mut registry,
                "sked_rollout_phase",
                "The phase of a SchedExt's roll-out: 1",
            ),
            quarantined: register(
                &mut registry,
                "sked_quarantined_nodes",
                "Nodes that do not run a SchedExt's scheduler any more because it failed there",
            ),
            rollbacks: register(
                &mut registry,
                "sked_rollbacks",
                "How often a revision failed and the nodes went back",
            ),
            verification: register(
                &mut registry,
                "sked_verification_schedexts",
                "SchedExts by whether their images are verified",
            ),
            policy_readable: register(
                &mut registry,
                "sked_verification_policy_readable",
                "Whether the trust policy could be read when it was read last; only with one",
            ),
            verifications: register(
                &mut registry,
                "sked_verification_images",
                "How often an image was verified, by result",
            ),
            root_checked: register(
                &mut registry,
                "sked_verification_root_checked_timestamp_seconds",
                "When the trusted root of the policy was last known to be the newest; 0 without one that ages",
            ),
            root_refreshes: register(
                &mut registry,
                "sked_verification_root_refreshes",
                "How often the trusted root was fetched, by result",
            ),
            happened: Mutex::default(),
            registry,
        }
    }

    pub(crate) fn reconciled(&self, result: ReconcileResult, took: Duration) {
        self.results.get_or_create(&of_result(result)).inc();
        if result == ReconcileResult::error {
            self.errors.inc();
        }
        let durations = self.durations.get_or_create(&OF_CONTROLLER);
        durations.observe(took.as_secs_f64());
    }

    /// What the SchedExts' queue records.
    pub(crate) fn queue(&self) -> QueueMetrics {
        self.queue.clone()
    }

    pub(crate) fn request(&self, request: &FinishedRequest<'_>) {
        self.requests.count(request);
    }

    pub(crate) fn leader(&self, lease: &'static str, is_leader: bool) {
        let lease = OfLease { name: lease };
        self.leader.get_or_create(&lease).set(i64::from(is_leader));
    }

    pub(crate) fn policy(&self, policy: &'static str, enforced: bool) {
        let gauge = self.policies.get_or_create(&OfPolicy { policy });
        gauge.set(i64::from(enforced));
    }

    pub(crate) fn policy_readable(&self, readable: bool) {
        let file = OfFile {
            file: "trust-policy",
        };
        let gauge = self.policy_readable.get_or_create(&file);
        gauge.set(i64::from(readable));
    }

    pub(crate) fn image_verified(&self, result: &'static str) {
        self.verifications
            .get_or_create(&OfVerdict { result })
            .inc();
    }

    pub(crate) fn root_checked(&self, at: Timestamp) {
        self.root_checked.set(at.as_second());
    }

    pub(crate) fn root_refreshed(&self, succeeded: bool) {
        let result = match succeeded {
            true => "success",
            false => "failure",
        };
        self.root_refreshes
            .get_or_create(&OfVerdict { result })
            .inc();
    }

    /// This happened to a SchedExt.
    pub(crate) fn happened(&self, key: &ObjectKey, new: Happened) {
        if new != Happened::default() {
            let mut all = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
            let sum = all.entry(key.clone()).or_default();
            sum.ejections += new.ejections;
            sum.rollbacks += new.rollbacks;
        }
    }

    /// In the OpenMetrics text format.
    pub(crate) fn text(&self, snapshot: &Snapshot) -> Result<String, Error> {
        let Snapshot {
            queue,
            schedexts,
            nodes,
            nodes_of,
            phases,
            verification,
            names,
        } = snapshot;
        // Locked until the end: of two concurrent scrapes one would clear what the other has set.
        let mut happened = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
        self.queue_gauges.set(queue);
        for (family, counts) in [
            (&self.schedexts, schedexts),
            (&self.nodes, nodes),
            (&self.verification, verification),
        ] {
            for (state, count) in counts {
                family.get_or_create(&OfState { state }).set(gauge(*count));
            }
        }
        // A deleted SchedExt must not keep its series.
        self.nodes_of.clear();
        for one in nodes_of {
            let of = OfSchedExt {
                namespace: one.namespace.clone(),
                schedext: one.schedext.clone(),
                state: one.state,
            };
            self.nodes_of.get_or_create(&of).set(one.count);
        }
        self.phases.clear();
        self.quarantined.clear();
        for one in phases {
            let ObjectKey { namespace, name } = one.schedext.clone();
            let of = OfPhase {
                namespace,
                schedext: name,
                phase: one.phase,
            };
            self.phases.get_or_create(&of).set(1);
            let of = of_name(&one.schedext);
            let nodes = self.quarantined.get_or_create(&of);
            nodes.set(gauge(one.quarantined));
        }
        happened.retain(|key, _| names.contains(key));
        self.ejections.clear();
        self.rollbacks.clear();
        // Also those without any: a rate needs the zero before the first one.
        for key in names {
            let sum = happened.get(key).copied().unwrap_or_default();
            let of = of_name(key);
            self.ejections.get_or_create(&of).inc_by(sum.ejections);
            self.rollbacks.get_or_create(&of).inc_by(sum.rollbacks);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

const OF_CONTROLLER: OfController = OfController {
    controller: CONTROLLER,
};

/// A metric in its initial state.
fn register<M: Metric + Clone + Default>(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn of_result(result: ReconcileResult) -> OfResult {
    OfResult {
        controller: CONTROLLER,
        result,
    }
}

fn of_name(key: &ObjectKey) -> OfName {
    OfName {
        namespace: key.namespace.clone(),
        schedext: key.name.clone(),
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
            queue: QueueSnapshot {
                depth: 7,
                unfinished_work: Duration::from_millis(2500),
                longest_running: Duration::from_secs(2),
            },
            schedexts: vec![("ready", 2)],
            nodes: vec![("free", 5)],
            nodes_of: vec![NodesOf {
                namespace: "here".to_owned(),
                schedext: "one".to_owned(),
                state: "attached",
                count: 4,
            }],
            phases: vec![PhaseOf {
                schedext: key("one"),
                phase: "RolledBack",
                quarantined: 3,
            }],
            verification: vec![("verified", 1)],
            names: [key("one"), key("two")].into(),
        }
    }

    fn ejections(ejections: u64) -> Happened {
        Happened {
            ejections,
            rollbacks: u64::from(ejections == 2),
        }
    }

    #[test]
    fn names_and_labels_are_those_of_existing_dashboards() {
        let metrics = Metrics::new();
        metrics.reconciled(ReconcileResult::success, Duration::from_millis(3));
        metrics.reconciled(ReconcileResult::error, Duration::from_millis(3));
        metrics.leader("b4c95cb3.schedkit.io", true);
        metrics.policy_readable(false);
        metrics.image_verified("refused");
        metrics.root_checked(Timestamp::UNIX_EPOCH);
        metrics.root_refreshed(false);
        metrics.happened(&key("one"), ejections(2));
        metrics.queue().adds.inc_by(3);
        metrics.queue().retries.inc();
        metrics.queue().queue_duration.observe(0.001);
        metrics.queue().work_duration.observe(0.25);
        for (method, status) in [("GET", Some(200)), ("GET", Some(200)), ("PUT", None)] {
            metrics.request(&FinishedRequest {
                method,
                host: "10.0.0.1:443",
                status,
            });
        }
        let text = metrics.text(&snapshot()).unwrap();
        for line in [
            r#"controller_runtime_reconcile_total{controller="schedext",result="success"} 1"#,
            r#"controller_runtime_reconcile_total{controller="schedext",result="error"} 1"#,
            r#"controller_runtime_reconcile_total{controller="schedext",result="requeue_after"} 0"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="schedext"} 2"#,
            r#"controller_runtime_reconcile_time_seconds_bucket{le="0.005",controller="schedext"} 2"#,
            r#"controller_runtime_reconcile_errors_total{controller="schedext"} 1"#,
            r#"sked_rollout_phase{namespace="here",schedext="one",phase="RolledBack"} 1"#,
            r#"sked_quarantined_nodes{namespace="here",schedext="one"} 3"#,
            r#"sked_rollbacks_total{namespace="here",schedext="one"} 1"#,
            r#"sked_rollbacks_total{namespace="here",schedext="two"} 0"#,
            r#"workqueue_depth{name="schedext",controller="schedext"} 7"#,
            r#"workqueue_adds_total{name="schedext",controller="schedext"} 3"#,
            r#"workqueue_retries_total{name="schedext",controller="schedext"} 1"#,
            r#"workqueue_queue_duration_seconds_count{name="schedext",controller="schedext"} 1"#,
            r#"workqueue_work_duration_seconds_sum{name="schedext",controller="schedext"} 0.25"#,
            r#"workqueue_unfinished_work_seconds{name="schedext",controller="schedext"} 2.5"#,
            r#"workqueue_longest_running_processor_seconds{name="schedext",controller="schedext"} 2.0"#,
            r#"rest_client_requests_total{code="200",method="GET",host="10.0.0.1:443"} 2"#,
            r#"rest_client_requests_total{code="<error>",method="PUT",host="10.0.0.1:443"} 1"#,
            r#"leader_election_master_status{name="b4c95cb3.schedkit.io"} 1"#,
            r#"sked_schedexts{state="ready"} 2"#,
            r#"sked_nodes{state="free"} 5"#,
            r#"sked_verification_schedexts{state="verified"} 1"#,
            r#"sked_verification_policy_readable{file="trust-policy"} 0"#,
            r#"sked_verification_images_total{result="refused"} 1"#,
            "sked_verification_root_checked_timestamp_seconds 0",
            r#"sked_verification_root_refreshes_total{result="failure"} 1"#,
            r#"sked_schedext_nodes{namespace="here",schedext="one",state="attached"} 4"#,
            r#"sked_ejections_total{namespace="here",schedext="one"} 2"#,
            r#"sked_ejections_total{namespace="here",schedext="two"} 0"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn ejections_add_up_and_are_removed_with_their_schedext() {
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
        metrics.happened(&key("one"), ejections(2));
        metrics.happened(&key("one"), ejections(0));
        metrics.happened(&key("one"), ejections(1));
        // A scrape does not change the count.
        assert_eq!(counted(&["one"]), [3]);
        assert_eq!(counted(&["one"]), [3]);
        assert_eq!(counted(&[]), Vec::<u64>::new());
        assert_eq!(counted(&["one"]), [0], "another SchedExt of that name");
    }

    #[test]
    fn alerts_and_dashboard_use_metrics_that_exist() {
        let metrics = Metrics::new();
        metrics.leader("b4c95cb3.schedkit.io", true);
        metrics.policy_readable(true);
        metrics.reconciled(ReconcileResult::success, Duration::from_millis(3));
        let exported = promql::exported(&metrics.text(&snapshot()).unwrap());
        let used = promql::used_of_manager();
        assert!(used.len() >= 8, "{used:?}");
        for name in used {
            assert!(exported.contains(&name), "{name} is not in {exported:?}");
        }
    }
}
