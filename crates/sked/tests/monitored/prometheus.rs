//! Debian's Prometheus on this machine, which scrapes a cluster's managers and agents and goes by
//! our rules, in a hurry.

use std::fs::{self, File};
use std::net::TcpListener;
use std::process::{Child, Command};

use lab::cache::Cache;
use lab::parts::prometheus;
use lab::progress::Reporter;
use lab::{LabSpec, Topology};
use serde_json::{Value, json};

use crate::ground::{Way, end};
use crate::rules;
use crate::site::Site;

/// How long an alert waits here, whatever its rule says.
const MOMENT: &str = "4s";
/// Often enough that nothing is missed, seldom enough for an emulated processor.
const INTERVAL: &str = "2s";
/// As in the ServiceMonitor's Service, which the alerts name.
const MANAGER_JOB: &str = "sked-controller-manager-metrics-service";

/// As the operator of Prometheus is told to scrape managers.
const MONITOR: &str = include_str!("../../../../config/prometheus/monitor.yaml");

pub(crate) struct Prometheus {
    process: Child,
    address: String,
    _ways: Vec<Way>,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// One that scrapes whatever sked has in the cluster now; returns when all of it was reached.
    pub(crate) fn watching(site: &Site) -> Self {
        let manager = site.pods("control-plane=controller-manager");
        let manager: Vec<_> = manager.iter().map(|(pod, _)| site.way(pod, 8443)).collect();
        let agents = site.pods("app.kubernetes.io/component=node-agent");
        let agents = agents.into_iter();
        let agents: Vec<_> = agents
            .map(|(pod, node)| (site.way(&pod, 8080), node))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("token", &token(site));
        write("rules.yaml", &hasty(&rules::plain()));
        // JSON is YAML.
        write("prometheus.yaml", &config(&manager, &agents).to_string());
        let address = format!("127.0.0.1:{}", free_port());
        let log = site.lab.state().path("prometheus.log");
        let process = Command::new(server())
            .current_dir(folder.path())
            .args(["--config.file=prometheus.yaml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address={address}"))
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let targets = manager.len() + agents.len();
        let ways = manager
            .into_iter()
            .chain(agents.into_iter().map(|(way, _)| way));
        let prometheus = Self {
            process,
            address,
            _ways: ways.collect(),
            _folder: folder,
        };
        site.until("Prometheus reaches all of sked", || {
            prometheus
                .has(&format!("sum(up) == {targets}"))
                .then_some(())
        });
        prometheus
    }

    /// Whether a query has an answer with a number in it.
    pub(crate) fn has(&self, query: &str) -> bool {
        let number = |one: &Value| {
            let value = one["value"][1].as_str();
            value.and_then(|value| value.parse::<f64>().ok())
        };
        self.ask(query)
            .iter()
            .any(|one| number(one).is_some_and(|number| !number.is_nan()))
    }

    /// Whether an alert fires about what has these labels.
    pub(crate) fn fires(&self, alert: &str, about: &str) -> bool {
        self.has(&format!(
            "ALERTS{{alertname=\"{alert}\",alertstate=\"firing\",{about}}}"
        ))
    }

    /// What fires now of the alerts about kernels, each once, sorted.
    pub(crate) fn firing(&self) -> Vec<String> {
        let kinds =
            "Sked(NotAttached|KernelUnknown|Ejected|Flapping|ForeignScheduler|UnsupportedKernel)";
        let query = format!(
            "group by (alertname) (ALERTS{{alertname=~\"{kinds}\",alertstate=\"firing\"}})"
        );
        let found = self.ask(&query);
        let names = found.iter().map(|one| &one["metric"]["alertname"]);
        let mut names: Vec<_> = names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    /// The answer; nothing while nobody answers.
    fn ask(&self, query: &str) -> Vec<Value> {
        let url = format!("http://{}/api/v1/query", self.address);
        let said = match ureq::get(&url).query("query", query).call() {
            Ok(mut answer) => answer.body_mut().read_to_string().unwrap(),
            Err(ureq::Error::StatusCode(code)) => panic!("{query}: HTTP {code}"),
            Err(_) => return Vec::new(),
        };
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["status"], "success", "{query}: {said}");
        said["data"]["result"].as_array().unwrap().clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// A token of an account that may read the manager's metrics and nothing else.
fn token(site: &Site) -> String {
    site.kubectl(&["create", "serviceaccount", "prometheus"]);
    site.kubectl(&[
        "create",
        "clusterrolebinding",
        "prometheus-sked",
        "--clusterrole=sked-metrics-reader",
        "--serviceaccount=default:prometheus",
    ]);
    let token = site.kubectl(&["create", "token", "prometheus", "--duration=6h"]);
    token.trim().to_owned()
}

/// What must hold for a while need hold for a moment only.
fn hasty(rules: &str) -> String {
    let lines = rules.lines().map(|line| match line.split_once("for: ") {
        Some((before, _)) if before.trim().is_empty() => format!("{before}for: {MOMENT}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// As the ServiceMonitor and the PodMonitor say it, for targets that are known beforehand.
fn config(manager: &[Way], agents: &[(Way, String)]) -> Value {
    let target = |way: &Way| format!("127.0.0.1:{}", way.port);
    let manager: Vec<_> = manager.iter().map(target).collect();
    let agents = agents
        .iter()
        .map(|(way, node)| json!({"targets": [target(way)], "labels": {"node": node}}));
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

/// A port that nobody listened on a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
