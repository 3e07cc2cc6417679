//! Debian's Prometheus on this machine, which scrapes a cluster's manager and agents and evaluates
//! our alerts with a `for` of seconds.

use std::fs::{self, File};
use std::process::{Child, Command};

use lab::cache::Cache;
use lab::parts::prometheus;
use lab::progress::Reporter;
use lab::{LabSpec, Topology};
use serde_json::{Value, json};
use testkit::manager::free_port;
use testkit::node_cluster::{AGENT_LABEL, MANAGER_LABEL};
use testkit::{NodeCluster, PortForward, alert_rules};

/// The `for` of every alert here.
const FOR: &str = "4s";
/// Short enough that nothing is missed, long enough for an emulated processor.
const INTERVAL: &str = "2s";
/// As in the ServiceMonitor's Service, which the alerts name.
const MANAGER_JOB: &str = "sked-controller-manager-metrics-service";

/// How the operator of Prometheus scrapes managers.
const MONITOR: &str = include_str!("../../../config/prometheus/monitor.yaml");

pub(crate) struct Prometheus {
    process: Child,
    address: String,
    _forwards: Vec<PortForward>,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// Scrapes the pods that sked has in the cluster now; returns when all of them were reached.
    pub(crate) fn start(cluster: &NodeCluster) -> Self {
        let forward = |pod: &str, port| cluster.forward(&format!("pod/{pod}"), port);
        let manager = cluster.sked_pods(MANAGER_LABEL);
        let manager: Vec<_> = manager.iter().map(|(pod, _)| forward(pod, 8443)).collect();
        let agents = cluster.sked_pods(AGENT_LABEL);
        let agents: Vec<_> = agents
            .into_iter()
            .map(|(pod, node)| (forward(&pod, 8080), node))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("token", &token(cluster));
        write("rules.yaml", &with_short_for(&alert_rules::groups()));
        // JSON is YAML.
        write("prometheus.yaml", &config(&manager, &agents).to_string());
        let address = format!("127.0.0.1:{}", free_port());
        let log = cluster.lab().state().path("prometheus.log");
        let process = Command::new(server())
            .current_dir(folder.path())
            .args(["--config.file=prometheus.yaml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address={address}"))
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let targets = manager.len() + agents.len();
        let agents = agents.into_iter().map(|(forward, _)| forward);
        let prometheus = Self {
            process,
            address,
            _forwards: manager.into_iter().chain(agents).collect(),
            _folder: folder,
        };
        cluster.until("Prometheus scrapes all of sked", || {
            let all = format!("sum(up) == {targets}");
            prometheus.has(&all).then_some(())
        });
        prometheus
    }

    /// Whether the result of a query has a number in it.
    pub(crate) fn has(&self, query: &str) -> bool {
        let number = |one: &Value| {
            let value = one["value"][1].as_str();
            value.and_then(|value| value.parse::<f64>().ok())
        };
        self.query(query)
            .iter()
            .any(|one| number(one).is_some_and(|number| !number.is_nan()))
    }

    /// Whether an alert with these labels fires.
    pub(crate) fn fires(&self, alert: &str, labels: &str) -> bool {
        self.has(&format!(
            "ALERTS{{alertname=\"{alert}\",alertstate=\"firing\",{labels}}}"
        ))
    }

    /// The alerts about kernels that fire now, each once, sorted.
    pub(crate) fn firing(&self) -> Vec<String> {
        let kinds =
            "Sked(NotAttached|KernelUnknown|Ejected|Flapping|ForeignScheduler|UnsupportedKernel)";
        let query = format!(
            "group by (alertname) (ALERTS{{alertname=~\"{kinds}\",alertstate=\"firing\"}})"
        );
        let found = self.query(&query);
        let names = found.iter().map(|one| &one["metric"]["alertname"]);
        let mut names: Vec<_> = names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    /// The result; empty while Prometheus does not answer.
    fn query(&self, query: &str) -> Vec<Value> {
        let url = format!("http://{}/api/v1/query", self.address);
        let answer = match ureq::get(&url).query("query", query).call() {
            Ok(mut answer) => answer.body_mut().read_to_string().unwrap(),
            Err(ureq::Error::StatusCode(code)) => panic!("{query}: HTTP {code}"),
            Err(_) => return Vec::new(),
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().unwrap().clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A token of an account that may read the manager's metrics and nothing else.
fn token(cluster: &NodeCluster) -> String {
    cluster.kubectl(&["create", "serviceaccount", "prometheus"]);
    cluster.kubectl(&[
        "create",
        "clusterrolebinding",
        "prometheus-sked",
        "--clusterrole=sked-metrics-reader",
        "--serviceaccount=default:prometheus",
    ]);
    let token = cluster.kubectl(&["create", "token", "prometheus", "--duration=6h"]);
    token.trim().to_owned()
}

fn with_short_for(rules: &str) -> String {
    let lines = rules.lines().map(|line| match line.split_once("for: ") {
        Some((before, _)) if before.trim().is_empty() => format!("{before}for: {FOR}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// What the operator of Prometheus makes of the ServiceMonitor and the PodMonitor, for targets that
/// are known beforehand.
fn config(manager: &[PortForward], agents: &[(PortForward, String)]) -> Value {
    let target = |forward: &PortForward| format!("127.0.0.1:{}", forward.port);
    let manager: Vec<_> = manager.iter().map(target).collect();
    let agents = agents
        .iter()
        .map(|(forward, node)| json!({"targets": [target(forward)], "labels": {"node": node}}));
    json!({
        "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            {
                "job_name": MANAGER_JOB,
                "scheme": "https",
                // The certificate is the manager's own, made at its start.
                "tls_config": {"insecure_skip_verify": true},
                "authorization": {"credentials_file": "token"},
                "honor_labels": MONITOR.contains("honorLabels: true"),
                // The operator adds those of the pod.
                "static_configs": [{"targets": manager, "labels": {"namespace": "sked-system"}}],
            },
            {"job_name": "sked-system/sked-node-agent", "static_configs": agents.collect::<Vec<_>>()},
        ],
    })
}

fn server() -> std::path::PathBuf {
    let order = LabSpec::new("none", Topology::ControlPlane, ".lab".as_ref());
    let programs = prometheus::make(&Cache::new(order.cache), &Reporter::new(std::io::sink()));
    programs.unwrap().server
}
