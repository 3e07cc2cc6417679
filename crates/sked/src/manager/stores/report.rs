//! What the nodes' agents report.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_api::{SchedExtNode, SchedExtNodeStatus};
use sked_plan::observed::Report;
use sked_plan::{NodeName, ObjectKey, Uid};

use super::store::Kept;
use super::wire::{Watched, WireMeta};

/// A report and the node that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportSeen {
    pub(crate) node: NodeName,
    pub(crate) report: Report,
}

/// A report on the wire. One that cannot be read says nothing.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Wire {
    metadata: WireMeta,
    #[serde(default)]
    status: serde_json::Value,
}

impl Kept for ReportSeen {
    fn key(&self) -> ObjectKey {
        super::node_key(&self.node)
    }

    fn groups(&self) -> [Option<&Uid>; 2] {
        [None, None]
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Watched for ReportSeen {
    type Kind = SchedExtNode;
    type Wire = Wire;

    fn meta(wire: &Wire) -> ObjectMeta {
        wire.metadata.seen()
    }

    fn read(wire: Wire) -> Option<Self> {
        let Wire { metadata, status } = wire;
        let mut owners = metadata.owner_references.into_iter();
        let owner = owners.find(|owner| owner.kind == "Node" && owner.name == metadata.name);
        let status = SchedExtNodeStatus::deserialize(status).unwrap_or_default();
        Some(Self {
            node: NodeName::from(metadata.name.as_str()),
            report: report(owner.map(|owner| Uid(owner.uid)), status),
        })
    }
}

fn report(owner: Option<Uid>, status: SchedExtNodeStatus) -> Report {
    let SchedExtNodeStatus {
        kernel_release,
        boot_id,
        supported,
        state,
        ops,
        enable_seq,
        // Of no use to a plan.
        switch_all: _,
        nr_rejected: _,
        since,
        trouble,
    } = status;
    Report {
        owner,
        boot_id,
        release: kernel_release,
        supported,
        state,
        ops: ops.and_then(|ops| ops.parse().ok()),
        enable_seq,
        since: since.map(|MicroTime(since)| since),
        trouble,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(status: &Value) -> Report {
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "node1", "uid": "u"});
        let object =
            json!({"metadata": {"name": "node1", "ownerReferences": [owner]}, "status": status});
        let wire = serde_json::from_value(object).unwrap();
        ReportSeen::read(wire).unwrap().report
    }

    #[test]
    fn a_report_is_read_and_nonsense_says_nothing() {
        let status = json!({"state": "enabled", "ops": "lab", "enableSeq": 3, "bootID": "b", "since": "2026-01-01T00:00:09.250000Z"});
        let report = read(&status);
        assert_eq!(report.owner, Some(Uid("u".to_owned())));
        assert_eq!(report.ops, Some("lab".parse().unwrap()));
        assert_eq!(
            report.since,
            Some("2026-01-01T00:00:09.25Z".parse().unwrap())
        );
        for nonsense in [
            json!(null),
            json!([]),
            json!({"state": 5}),
            json!({"since": "x"}),
        ] {
            let report = read(&nonsense);
            assert_eq!((report.state, report.ops), (None, None), "{nonsense}");
        }
        assert_eq!(read(&json!({"ops": "not a name"})).ops, None);
    }
}
