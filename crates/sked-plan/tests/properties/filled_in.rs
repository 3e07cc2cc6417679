//! What an API server stores for a DaemonSet: with defaults, without empty fields, and with
//! normalized quantities.

use serde_json::{Value, json};

pub(crate) fn filled_in(mut daemonset: Value) -> Value {
    let image = daemonset["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let spec = &mut daemonset["spec"];
    fill(spec, "revisionHistoryLimit", json!(10));
    fill(&mut spec["updateStrategy"], "type", json!("RollingUpdate"));
    let rolling = &mut spec["updateStrategy"]["rollingUpdate"];
    fill(rolling, "maxUnavailable", json!(1));
    fill(rolling, "maxSurge", json!(0));
    let template = &mut spec["template"];
    template["metadata"]["creationTimestamp"] = Value::Null;
    let pod = &mut template["spec"];
    fill(pod, "restartPolicy", json!("Always"));
    fill(pod, "dnsPolicy", json!("ClusterFirst"));
    fill(pod, "schedulerName", json!("default-scheduler"));
    fill(pod, "terminationGracePeriodSeconds", json!(30));
    fill(pod, "securityContext", json!({}));
    let latest = matches!(image.as_str(), Some(image) if image.ends_with(":latest"));
    let policy = if latest { "Always" } else { "IfNotPresent" };
    let container = &mut pod["containers"][0];
    fill(container, "imagePullPolicy", json!(policy));
    fill(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    fill(container, "terminationMessagePolicy", json!("File"));
    fill(container, "resources", json!({}));
    if container["resources"]["limits"]["cpu"] == "1000m" {
        container["resources"]["limits"]["cpu"] = json!("1");
    }
    for volume in pod["volumes"].as_array_mut().unwrap() {
        fill(&mut volume["hostPath"], "type", json!(""));
    }
    daemonset["metadata"]["annotations"] = json!({"deprecated.daemonset.template.generation": "1"});
    daemonset["metadata"]["managedFields"] = json!([{"manager": "sked"}]);
    daemonset["metadata"]["generation"] = json!(1);
    daemonset["status"] = json!({"desiredNumberScheduled": 0});
    daemonset
}

fn fill(map: &mut Value, key: &str, value: Value) {
    if map[key].is_null() {
        map[key] = value;
    }
}
