//! sked with `config/verified` on two nodes with kernels of their own: of five versions only the one
//! that the policy accepts ever reaches a kernel, also on a node that joins while the registry is
//! down; a policy that becomes stricter is reported, and enforced when asked. The kernels' own logs
//! are the evidence.

#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lab::oci::{Image, Registry, Subject};
use lab::{LabSpec, StopSignal, Topology};
use serde_json::{Value, json};
use testkit::node_cluster::{ATTACHED, NAMESPACE};
use testkit::nodes::NODES;
use testkit::{KeySigner, NodeCluster, program};

const REPOSITORY: &str = "scx_lab";
const LABEL: &str = "verified";
/// What scx_lab 1.1.0 is called in the kernel. The other versions have other names.
const ACCEPTED: &str = "lab_1.1.0";
const TITLE: &str = "org.opencontainers.image.title";

#[test]
fn only_what_is_signed_reaches_a_kernel() {
    let order = LabSpec {
        nodes: 2,
        processors: 1,
        ..LabSpec::new("long-verified", Topology::Cluster, &program::labs())
    };
    let fixture = Fixture::up(order);
    let [first, second] = NODES;
    fixture.select(first);
    fixture.the_signed_version_runs_by_its_digest();
    let refusals = [
        ("2", "an unsigned version"),
        ("3", "a version that another key signed"),
        ("5", "a signed version of another scheduler"),
    ];
    for (tag, what) in refusals {
        fixture.a_version_is_refused(tag, what);
    }
    fixture.a_tag_that_moves_moves_nothing();
    fixture.a_node_that_joins_without_a_registry_gets_the_pinned_digest(second);
    fixture.a_stricter_policy_is_reported_and_then_enforced();
    for node in NODES {
        let log = fixture.attached_on(node);
        println!("{node}: {log:?}");
        assert!(!log.is_empty() && log.iter().all(|name| name == ACCEPTED));
    }
}

struct Fixture {
    cluster: NodeCluster,
    registry: Registry,
    key: KeySigner,
    /// Of the images, by digest.
    accepted: String,
}

impl Fixture {
    fn up(order: LabSpec) -> Self {
        let cluster = NodeCluster::boot(order, &program::sked());
        let registry = Registry::new(&cluster.lab().running().registry);
        let key = KeySigner::new();
        let mut fixture = Self {
            cluster,
            registry,
            key,
            accepted: String::new(),
        };
        fixture.push_versions();
        fixture.deploy(&fixture.key, &[]);
        fixture
    }

    /// 1 and 4 are signed, 2 is not, 3 is by another key, 5 has another title.
    fn push_versions(&mut self) {
        let one = self.tag("1.1.0", "1");
        self.tag("1.1.0", "4");
        self.sign(&one, &self.key);
        self.tag("1.0.0", "2");
        let three = self.tag("slow-attach", "3");
        self.sign(&three, &KeySigner::new());
        let labels = BTreeMap::from([(TITLE.to_owned(), "scx_other".to_owned())]);
        let five = Image::new("amd64", &[], &["/nothing"], &labels).unwrap();
        self.registry.push_image(REPOSITORY, "5", &five).unwrap();
        self.sign(&Subject::from(&five), &self.key);
        let on_nodes = &self.cluster.lab().running().registry_on_nodes;
        self.accepted = format!("{on_nodes}/{REPOSITORY}@{}", one.digest);
    }

    /// Gives an image one more tag.
    fn tag(&self, from: &str, to: &str) -> Subject {
        let image = self.registry.manifest(REPOSITORY, from).unwrap().unwrap();
        let kind = &image.media_type;
        let pushed = self
            .registry
            .push_manifest(REPOSITORY, to, kind, &image.manifest);
        pushed.unwrap();
        Subject::from(&image)
    }

    fn sign(&self, subject: &Subject, key: &KeySigner) {
        key.sign(&self.registry, REPOSITORY, subject);
    }

    /// Applies an overlay of config/verified, as an administrator would write one: the image, the
    /// policy, and the only registry of this lab, which is named in no DNS.
    fn deploy(&self, key: &KeySigner, further: &[&str]) {
        let folder = self.cluster.lab().state().path("e2e/verified");
        fs::create_dir_all(&folder).unwrap();
        let overlay = self.overlay(&folder, key, further);
        let text = serde_json::to_string_pretty(&overlay).unwrap();
        fs::write(folder.join("kustomization.yaml"), text).unwrap();
        let folder = folder.to_str().unwrap();
        self.cluster
            .kubectl(&["apply", "--server-side", "--force-conflicts", "-k", folder]);
        self.cluster.await_sked();
    }

    fn overlay(&self, folder: &Path, key: &KeySigner, further: &[&str]) -> Value {
        let top = program::tree();
        let depth = folder.strip_prefix(&top).unwrap().components().count();
        let (name, tag) = self.cluster.image.rsplit_once(':').unwrap();
        let on_nodes = &self.cluster.lab().running().registry_on_nodes;
        let (host, _) = on_nodes.split_once(':').unwrap();
        let policy = format!(
            "version: 2\nsigners:\n  lab: {{key: trusted.pub}}\nrules:\n\
             - {{scope: \"{on_nodes}\", signers: [lab]}}\n"
        );
        let add_arg = |arg: &str| json!({"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": arg});
        let mut manager = vec![json!({
            "op": "add",
            "path": "/spec/template/spec/hostAliases",
            "value": [{"ip": self.address_of(host), "hostnames": [host]}],
        })];
        manager.push(add_arg("--registries=/etc/sked/trust/registries.yaml"));
        manager.extend(further.iter().map(|arg| add_arg(arg)));
        let data = json!({
            "policy.yaml": policy,
            "trusted.pub": key.public_key(),
            "registries.yaml": format!("\"{on_nodes}\": {{security: plain-http}}\n"),
        });
        json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [format!("{}config/verified", "../".repeat(depth))],
            "images": [{"name": "controller", "newName": name, "newTag": tag}],
            "patches": [
                {
                    "target": {"kind": "ConfigMap", "name": "sked-trust-policy"},
                    "patch": json!([{"op": "replace", "path": "/data", "value": data}]).to_string(),
                },
                {
                    "target": {"kind": "Deployment", "name": "sked-controller-manager"},
                    "patch": Value::from(manager).to_string(),
                },
            ],
        })
    }

    /// As the nodes' own file of hosts has it.
    fn address_of(&self, host: &str) -> String {
        let script = format!("getent hosts {host}");
        let line = self.cluster.node(NODES[0]).must(&script).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    }

    /// Makes a node one of those that the SchedExt selects.
    fn select(&self, node: &str) {
        let label = format!("{LABEL}=yes");
        self.cluster.kubectl(&["label", "node", node, &label]);
    }

    fn asks_for(&self, tag: &str) {
        let on_nodes = &self.cluster.lab().running().registry_on_nodes;
        let sched = format!("{on_nodes}/{REPOSITORY}:{tag}");
        let spec = json!({"sched": sched, "nodeSelector": {LABEL: "yes"}});
        self.cluster.apply_schedext("lab", &spec);
    }

    /// The images that the pods of the SchedExt name.
    fn images(&self) -> Vec<String> {
        let pods =
            self.cluster
                .list(&["pods", "-n", NAMESPACE, "-l", "managed-by=sked-controller"]);
        let image = |pod: &Value| {
            pod["spec"]["containers"][0]["image"]
                .as_str()
                .map(str::to_owned)
        };
        pods.iter().filter_map(image).collect()
    }

    fn message(&self) -> String {
        let verified = self.cluster.condition(NAMESPACE, "lab", "Verified");
        verified["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The names of the schedulers that a node's kernel has attached since it booted.
    fn attached_on(&self, node: &str) -> Vec<String> {
        let log = self.cluster.node(node).must("dmesg").unwrap();
        let lines = log.lines().filter_map(|line| {
            let (_, text) = line.split_once("sched_ext: BPF scheduler \"")?;
            let (name, what) = text.split_once('"')?;
            what.starts_with(" enabled").then(|| name.to_owned())
        });
        lines.collect()
    }

    fn the_signed_version_runs_by_its_digest(&self) {
        self.asks_for("1");
        self.cluster
            .await_condition("lab", "Verified", "True/Verified");
        self.cluster.await_condition("lab", "Ready", ATTACHED);
        assert_eq!(self.images(), [self.accepted.as_str()]);
        assert_eq!(
            self.cluster.status_of("lab")["resolvedImage"],
            self.accepted
        );
        println!("1: {}", self.message());
    }

    fn a_version_is_refused(&self, tag: &str, what: &str) {
        let before = self.cluster.scheduler_pods();
        self.asks_for(tag);
        self.cluster
            .await_condition("lab", "Verified", "False/ImageRefused");
        println!("{tag}, {what}: {}", self.message());
        assert_eq!(self.cluster.scheduler_pods(), before, "{what}");
        self.asks_for("1");
        self.cluster
            .await_condition("lab", "Verified", "True/Verified");
        assert_eq!(self.cluster.scheduler_pods(), before, "{what}");
    }

    /// The tag is pinned; a refresh finds unsigned bytes and refuses them.
    fn a_tag_that_moves_moves_nothing(&self) {
        let before = self.cluster.scheduler_pods();
        self.asks_for("4");
        self.cluster
            .await_condition("lab", "Verified", "True/Verified");
        self.tag("stall", "4");
        let request = "sked.schedkit.io/request=refresh";
        self.cluster
            .kubectl(&["annotate", "--overwrite", "schedext", "lab", request]);
        self.cluster
            .await_condition("lab", "Verified", "False/ImageRefused");
        println!("4, a tag that moved: {}", self.message());
        assert_eq!(self.cluster.scheduler_pods(), before);
        assert_eq!(self.images(), [self.accepted.as_str()]);
    }

    /// The image is on the node already: no registry could give it.
    fn a_node_that_joins_without_a_registry_gets_the_pinned_digest(&self, node: &str) {
        let pull = format!(
            "ctr --namespace k8s.io images pull --plain-http {}",
            self.accepted
        );
        self.cluster.node(node).must(&pull).unwrap();
        let lab = self.cluster.lab();
        lab.stop_service("registry", StopSignal::Kill).unwrap();
        self.select(node);
        self.cluster.await_attached("lab", 2);
        assert_eq!(self.images(), [self.accepted.as_str(), &self.accepted]);
        println!("without a registry: {}", self.message());
        lab.start_service("registry").unwrap();
    }

    fn a_stricter_policy_is_reported_and_then_enforced(&self) {
        let before = self.cluster.scheduler_pods();
        self.asks_for("1");
        self.cluster
            .await_condition("lab", "Verified", "True/Verified");
        let other = KeySigner::new();
        self.deploy(&other, &[]);
        self.cluster
            .await_condition("lab", "Verified", "False/PolicyViolated");
        println!("a stricter policy: {}", self.message());
        assert_eq!(self.cluster.scheduler_pods(), before, "it runs on");
        self.deploy(&other, &["--enforce-running"]);
        for node in NODES {
            self.cluster.await_kernel_state(node, "disabled");
        }
        println!("enforced: {}", self.message());
    }
}
