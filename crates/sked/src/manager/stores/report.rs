//! Node agents' reports (SchedExtNodes).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_api::{SchedExtNode, SchedExtNodeStatus};
use sked_plan::NodeReport;
use sked_plan::{NodeName, ObjectKey, Uid};

use super::decode::{MetaFields, Watched};
use super::store::Stored;

/// A report and the node that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportOfNode {
    pub(crate) node: NodeName,
    pub(crate) report: NodeReport,
}

/// A status that cannot be parsed counts as an empty report.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RawReport {
    metadata: MetaFields,
    #[serde(default)]
    status: serde_json::Value,
}

impl Stored for ReportOfNode {
    fn key(&self) -> ObjectKey {
        super::node::key(&self.node)
    }

    fn groups(&self) -> [Option<&Uid>; 2] {
        [None, None]
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Watched for ReportOfNode {
    type Kind = SchedExtNode;
    type Raw = RawReport;
    const OPTIONAL: bool = true;

    fn meta(raw: &RawReport) -> ObjectMeta {
        raw.metadata.object_meta()
    }

    fn read(raw: RawReport) -> Option<Self> {
        let RawReport { metadata, status } = raw;
        let mut owners = metadata.owner_references.into_iter();
        let owner = owners.find(|owner| owner.kind == "Node" && owner.name == metadata.name);
        let status = SchedExtNodeStatus::deserialize(status).unwrap_or_default();
        Some(Self {
            node: NodeName::from(metadata.name.as_str()),
            report: report(owner.map(|owner| Uid(owner.uid)), status),
        })
    }
}

fn report(owner: Option<Uid>, status: SchedExtNodeStatus) -> NodeReport {
    let SchedExtNodeStatus {
        kernel_release,
        boot_id,
        supported,
        state,
        ops,
        enable_seq,
        // The planner does not need these.
        switch_all: _,
        nr_rejected: _,
        since,
        kernel_gaps,
        trouble,
    } = status;
    NodeReport {
        owner,
        boot_id,
        release: kernel_release,
        supported,
        state,
        ops: ops.and_then(|ops| ops.parse().ok()),
        enable_seq,
        since: since.map(|MicroTime(since)| since),
        kernel_gaps,
        trouble,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(status: &Value) -> NodeReport {
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "node1", "uid": "u"});
        let object =
            json!({"metadata": {"name": "node1", "ownerReferences": [owner]}, "status": status});
        let raw = serde_json::from_value(object).unwrap();
        ReportOfNode::read(raw).unwrap().report
    }

    #[test]
    fn a_report_is_read_and_an_invalid_one_is_empty() {
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
