//! Executes the writes that [`crate::agent::report_sync`] decided, and returns what the API server has
//! then. It does not retry.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use sked_api::node::{SchedExtNode, SchedExtNodeSpec, SchedExtNodeStatus};

use super::identity::Identity;
use super::report_sync::{PublishedReport, ReportWrite, StoredReport};

/// For one write.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A request of the agent failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("the API server does not know SchedExtNodes: install the CRD (make install)")]
    NoKind,
    #[error("the API server forbids it: apply config/rbac and config/policy of this version")]
    Forbidden(#[source] Box<kube::Error>),
    #[error("the API server rejects it")]
    Rejected(#[source] Box<kube::Error>),
    #[error("the API server cannot be reached")]
    Unreachable(#[source] Box<kube::Error>),
    #[error("the API server does not respond")]
    Timeout,
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) => match status.code {
                404 => Self::NoKind,
                403 => Self::Forbidden(Box::new(error)),
                _ => Self::Rejected(Box::new(error)),
            },
            _ => Self::Unreachable(Box::new(error)),
        }
    }
}

pub(super) async fn execute(
    api: &Api<SchedExtNode>,
    node: &Identity,
    write: &ReportWrite,
) -> Result<StoredReport, WriteError> {
    let response = async {
        match write {
            ReportWrite::Create => create(api, node).await,
            ReportWrite::Delete { uid } => delete(api, node, uid).await,
            ReportWrite::Patch(status) => patch(api, node, status).await,
        }
    };
    let response = tokio::time::timeout(TIMEOUT, response).await;
    response.map_err(|_| WriteError::Timeout)?
}

async fn create(api: &Api<SchedExtNode>, node: &Identity) -> Result<StoredReport, WriteError> {
    match api.create(&PostParams::default(), &empty(node)).await {
        Ok(report) => Ok(StoredReport::Present(Box::new(report.into()))),
        Err(error) if code(&error) == Some(409) => read(api, node).await,
        Err(error) => Err(error.into()),
    }
}

/// Only the object with this uid: a new one may have been created in the meantime.
async fn delete(
    api: &Api<SchedExtNode>,
    node: &Identity,
    uid: &str,
) -> Result<StoredReport, WriteError> {
    let params = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    });
    match api.delete(&node.name, &params).await {
        Ok(_) => Ok(StoredReport::Absent),
        Err(error) => match code(&error) {
            Some(404) => Ok(StoredReport::Absent),
            Some(409) => read(api, node).await,
            _ => Err(error.into()),
        },
    }
}

async fn patch(
    api: &Api<SchedExtNode>,
    node: &Identity,
    status: &SchedExtNodeStatus,
) -> Result<StoredReport, WriteError> {
    let patch = Patch::Merge(json!({"status": all_fields(status)}));
    let params = PatchParams::default();
    match api.patch_status(&node.name, &params, &patch).await {
        Ok(report) => Ok(StoredReport::Present(Box::new(report.into()))),
        Err(error) if code(&error) == Some(404) => Ok(StoredReport::Absent),
        Err(error) => Err(error.into()),
    }
}

async fn read(api: &Api<SchedExtNode>, node: &Identity) -> Result<StoredReport, WriteError> {
    let found = api.get_opt(&node.name).await?;
    Ok(found.map_or(StoredReport::Absent, |report| {
        StoredReport::Present(Box::new(report.into()))
    }))
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// A report without status that is deleted with its Node, without blocking the Node's deletion.
fn empty(node: &Identity) -> SchedExtNode {
    let mut report = SchedExtNode::new(&node.name, SchedExtNodeSpec::default());
    report.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.name.clone(),
        uid: node.uid.clone(),
        controller: None,
        block_owner_deletion: Some(false),
    }]);
    report
}

/// Names every field: a missing value must be removed from the stored report.
fn all_fields(status: &SchedExtNodeStatus) -> Value {
    let SchedExtNodeStatus {
        kernel_release,
        boot_id,
        supported,
        state,
        ops,
        enable_seq,
        switch_all,
        nr_rejected,
        since,
        kernel_gaps,
        trouble,
    } = status;
    json!({
        "kernelRelease": kernel_release,
        "bootID": boot_id,
        "supported": supported,
        "state": state,
        "ops": ops,
        "enableSeq": enable_seq,
        "switchAll": switch_all,
        "nrRejected": nr_rejected,
        "since": since,
        "kernelGaps": kernel_gaps,
        "trouble": trouble,
    })
}

impl From<SchedExtNode> for PublishedReport {
    fn from(object: SchedExtNode) -> Self {
        let metadata = object.metadata;
        let owner = match metadata.owner_references.as_deref() {
            Some([owner]) if owner.kind == "Node" && owner.api_version == "v1" => Some(Identity {
                name: owner.name.clone(),
                uid: owner.uid.clone(),
            }),
            _ => None,
        };
        Self {
            uid: metadata.uid.unwrap_or_default(),
            version: metadata.resource_version.and_then(|text| text.parse().ok()),
            owner,
            status: object.status.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_every_field() {
        let full = SchedExtNodeStatus {
            kernel_release: Some("6.18".to_owned()),
            boot_id: Some("b".to_owned()),
            supported: Some(true),
            state: Some("enabled".to_owned()),
            ops: Some("lab".to_owned()),
            enable_seq: Some(1),
            switch_all: Some(true),
            nr_rejected: Some(0),
            since: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(
                jiff::Timestamp::UNIX_EPOCH,
            )),
            kernel_gaps: Some("none".to_owned()),
            trouble: Some("none".to_owned()),
        };
        assert_eq!(all_fields(&full), serde_json::to_value(&full).unwrap());
        let empty = all_fields(&SchedExtNodeStatus::default());
        let fields = empty.as_object().unwrap();
        assert!(
            fields.len() == 11 && fields.values().all(Value::is_null),
            "{empty}"
        );
    }

    #[test]
    fn a_report_belongs_to_one_node_or_to_none() {
        let node = Identity {
            name: "a".to_owned(),
            uid: "1".to_owned(),
        };
        let report = empty(&node);
        assert_eq!(PublishedReport::from(report.clone()).owner, Some(node));
        let mut two = report.clone();
        let owners = two.metadata.owner_references.as_mut().unwrap();
        owners.push(owners[0].clone());
        assert_eq!(PublishedReport::from(two).owner, None);
        let mut other = report;
        other.metadata.owner_references.as_mut().unwrap()[0].kind = "Pod".to_owned();
        assert_eq!(PublishedReport::from(other).owner, None);
    }
}
