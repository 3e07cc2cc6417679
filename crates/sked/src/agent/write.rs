//! Takes the steps that [`crate::agent::ledger`] decided on, and says what the API server has then.
//! It never decides and never repeats.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use sked_api::node::{SchedExtNode, SchedExtNodeSpec, SchedExtNodeStatus};

use super::identity::Identity;
use super::ledger::{Held, Report, Step};

/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why the API server has not what it should have.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The kind, or the right to it.
    #[error("the API server does not know SchedExtNodes: install the CRD (make install)")]
    NoKind,
    /// RBAC or the admission policy.
    #[error("the API server refuses: apply config/rbac and config/policy of this version")]
    Forbidden(#[source] Box<kube::Error>),
    /// Anything else that it says.
    #[error("the API server refuses")]
    Refused(#[source] Box<kube::Error>),
    /// It says nothing.
    #[error("the API server cannot be reached")]
    Unreachable(#[source] Box<kube::Error>),
    /// It takes too long.
    #[error("the API server does not answer")]
    Slow,
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) => match status.code {
                404 => Self::NoKind,
                403 => Self::Forbidden(Box::new(error)),
                _ => Self::Refused(Box::new(error)),
            },
            _ => Self::Unreachable(Box::new(error)),
        }
    }
}

/// Takes one step for this node.
pub(super) async fn execute(
    api: &Api<SchedExtNode>,
    node: &Identity,
    step: &Step,
) -> Result<Held, WriteError> {
    let step = async {
        match step {
            Step::Create => create(api, node).await,
            Step::Delete { uid } => delete(api, node, uid).await,
            Step::Patch(status) => patch(api, node, status).await,
        }
    };
    let taken = tokio::time::timeout(PATIENCE, step).await;
    taken.map_err(|_| WriteError::Slow)?
}

async fn create(api: &Api<SchedExtNode>, node: &Identity) -> Result<Held, WriteError> {
    match api.create(&PostParams::default(), &empty(node)).await {
        Ok(report) => Ok(Held::There(Box::new(report.into()))),
        Err(error) if code(&error) == Some(409) => look(api, node).await,
        Err(error) => Err(error.into()),
    }
}

/// Only that one: a new one may have come meanwhile.
async fn delete(api: &Api<SchedExtNode>, node: &Identity, uid: &str) -> Result<Held, WriteError> {
    let params = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    });
    match api.delete(&node.name, &params).await {
        Ok(_) => Ok(Held::Gone),
        Err(error) => match code(&error) {
            Some(404) => Ok(Held::Gone),
            Some(409) => look(api, node).await,
            _ => Err(error.into()),
        },
    }
}

async fn patch(
    api: &Api<SchedExtNode>,
    node: &Identity,
    status: &SchedExtNodeStatus,
) -> Result<Held, WriteError> {
    let patch = Patch::Merge(json!({"status": whole(status)}));
    let params = PatchParams::default();
    match api.patch_status(&node.name, &params, &patch).await {
        Ok(report) => Ok(Held::There(Box::new(report.into()))),
        Err(error) if code(&error) == Some(404) => Ok(Held::Gone),
        Err(error) => Err(error.into()),
    }
}

async fn look(api: &Api<SchedExtNode>, node: &Identity) -> Result<Held, WriteError> {
    let found = api.get_opt(&node.name).await?;
    Ok(found.map_or(Held::Gone, |report| Held::There(Box::new(report.into()))))
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// A report that says nothing yet and goes with its Node. The Node need not wait for it.
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

/// Every field: what is absent must go when it was there before.
fn whole(status: &SchedExtNodeStatus) -> Value {
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
        "trouble": trouble,
    })
}

impl From<SchedExtNode> for Report {
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
    fn a_patch_names_every_field_that_there_is() {
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
            trouble: Some("none".to_owned()),
        };
        assert_eq!(whole(&full), serde_json::to_value(&full).unwrap());
        let empty = whole(&SchedExtNodeStatus::default());
        let fields = empty.as_object().unwrap();
        assert!(
            fields.len() == 10 && fields.values().all(Value::is_null),
            "{empty}"
        );
    }

    #[test]
    fn a_report_belongs_to_one_node_or_to_nobody() {
        let node = Identity {
            name: "a".to_owned(),
            uid: "1".to_owned(),
        };
        let report = empty(&node);
        assert_eq!(Report::from(report.clone()).owner, Some(node));
        let mut two = report.clone();
        let owners = two.metadata.owner_references.as_mut().unwrap();
        owners.push(owners[0].clone());
        assert_eq!(Report::from(two).owner, None);
        let mut other = report;
        other.metadata.owner_references.as_mut().unwrap()[0].kind = "Pod".to_owned();
        assert_eq!(Report::from(other).owner, None);
    }
}
