//! The defaults that the API server sets in a DaemonSet, as of Kubernetes 1.33 to 1.36.
//!
//! One table: the key of a map, a key in that map, and its default. A value that equals its default
//! is ignored. The elements of a list have the list's key. Our templates have no probes, ports or
//! other volume sources; they are in the table so that a difference names only what somebody added.

use serde_json::Value;

enum Default {
    Text(&'static str),
    Number(i64),
    Flag(bool),
}

/// Whether the API server would set this value by itself.
pub(super) fn is_default(parent: &str, key: &str, value: &Value) -> bool {
    match default_of(parent, key) {
        None => false,
        Some(Default::Text(text)) => value == text,
        Some(Default::Number(number)) => value == number,
        Some(Default::Flag(flag)) => value == flag,
    }
}

fn default_of(parent: &str, key: &str) -> Option<Default> {
    use Default::{Flag, Number, Text};
    Some(match (parent, key) {
        // The DaemonSet itself.
        ("spec", "revisionHistoryLimit") => Number(10),
        ("spec", "minReadySeconds") => Number(0),
        ("updateStrategy", "type") => Text("RollingUpdate"),
        ("rollingUpdate", "maxUnavailable") => Number(1),
        ("rollingUpdate", "maxSurge") => Number(0),
        // The pod.
        ("spec", "restartPolicy") => Text("Always"),
        ("spec", "dnsPolicy") => Text("ClusterFirst"),
        ("spec", "schedulerName") => Text("default-scheduler"),
        ("spec", "terminationGracePeriodSeconds") => Number(30),
        ("spec", "enableServiceLinks") => Flag(true),
        ("spec", "preemptionPolicy") => Text("PreemptLowerPriority"),
        // Containers.
        ("containers" | "initContainers", key) => return of_container(key),
        ("securityContext", "procMount") => Text("Default"),
        ("ports", "protocol") => Text("TCP"),
        ("fieldRef", "apiVersion") => Text("v1"),
        ("resourceFieldRef", "divisor") => Text("0"),
        ("httpGet", "scheme") => Text("HTTP"),
        ("httpGet", "path") => Text("/"),
        ("livenessProbe" | "readinessProbe" | "startupProbe", key) => return of_probe(key),
        // Volumes.
        ("configMap" | "secret" | "projected" | "downwardAPI", "defaultMode") => Number(420),
        ("serviceAccountToken", "expirationSeconds") => Number(3600),
        ("iscsi", "iscsiInterface") => Text("default"),
        ("rbd", "pool") => Text("rbd"),
        ("rbd", "user") => Text("admin"),
        ("rbd", "keyring") => Text("/etc/ceph/keyring"),
        ("azureDisk", "cachingMode") => Text("ReadWrite"),
        ("azureDisk", "kind") => Text("Shared"),
        ("azureDisk", "fsType") => Text("ext4"),
        ("azureDisk", "readOnly") => Flag(false),
        ("scaleIO", "fsType") => Text("xfs"),
        ("scaleIO", "storageMode") => Text("ThinProvisioned"),
        ("spec", "volumeMode") => Text("Filesystem"),
        // How pods are spread.
        ("topologySpreadConstraints", "nodeAffinityPolicy") => Text("Honor"),
        ("topologySpreadConstraints", "nodeTaintsPolicy") => Text("Ignore"),
        _ => return None,
    })
}

fn of_container(key: &str) -> Option<Default> {
    Some(match key {
        "terminationMessagePath" => Default::Text("/dev/termination-log"),
        "terminationMessagePolicy" => Default::Text("File"),
        _ => return None,
    })
}

fn of_probe(key: &str) -> Option<Default> {
    Some(match key {
        "timeoutSeconds" | "successThreshold" => Default::Number(1),
        "periodSeconds" => Default::Number(10),
        "failureThreshold" => Default::Number(3),
        _ => return None,
    })
}

/// The default pull policy depends on the image: `Always` for the tag `latest` and for an image
/// without tag and digest.
pub(super) fn is_pull_policy_of(image: Option<&Value>, policy: &Value) -> bool {
    let image = image.and_then(Value::as_str).unwrap_or_default();
    let (name, digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    let last = name.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag);
    let always = tag.map_or(!digest, |tag| tag == "latest");
    policy == if always { "Always" } else { "IfNotPresent" }
}
