//! Objects of the API as the planner reads and writes them.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};
use sked_api::SchedExtSpec;
use sked_plan::LiveDaemonSet;

use super::memo::hash;
use super::objects::{DaemonSetSpec, SchedExt, Template};
use crate::filled_in::filled_in;

pub(super) fn schedext(object: &SchedExt, spec: &SchedExtSpec) -> sked_api::SchedExt {
    let SchedExt {
        name,
        spec: _,
        generation,
        record,
    } = object;
    sked_api::SchedExt {
        metadata: ObjectMeta {
            name: Some((*name).to_owned()),
            namespace: Some("default".to_owned()),
            uid: Some(format!("uid-of-{name}")),
            generation: Some(*generation),
            creation_timestamp: Some(Time(Timestamp::UNIX_EPOCH)),
            ..ObjectMeta::default()
        },
        spec: spec.clone(),
        status: Some((*record.status).clone()),
    }
}

pub(super) fn daemonset_spec(desired: &DaemonSet) -> Arc<DaemonSetSpec> {
    let mut value = serde_json::to_value(desired).unwrap();
    value["metadata"]["uid"] = json!("none");
    value["metadata"]["resourceVersion"] = json!("1");
    let value = filled_in(value);
    let spec = &value["spec"];
    let rolling = &spec["updateStrategy"];
    let limit = &rolling["rollingUpdate"]["maxUnavailable"];
    let limit = limit.as_u64().map(|limit| usize::try_from(limit).unwrap());
    let template = &spec["template"];
    let live = LiveDaemonSet::read(&value).unwrap();
    let owner = live.controller.as_ref().unwrap();
    Arc::new(DaemonSetSpec {
        id: hash(&value.to_string()),
        min_ready_seconds: spec["minReadySeconds"].as_i64().unwrap_or_default(),
        max_unavailable: limit.filter(|_| rolling["type"] == "RollingUpdate"),
        template: Arc::new(Template {
            owner: owner.0.trim_start_matches("uid-of-").to_owned(),
            hash: format!("{:x}", hash(&template.to_string())),
            image: text(&template["spec"]["containers"][0]["image"]),
            revision: text(&template["metadata"]["labels"]["sked.schedkit.io/revision"]),
        }),
        live,
        value,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
