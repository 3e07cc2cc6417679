//! `sked release-nodes`: removes the owner label from all nodes when sked is uninstalled. The chart
//! runs it after its removal. While SchedExts exist it does nothing: their DaemonSets depend on these
//! labels, and a new installation uses both again.

use std::path::Path;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use sked_api::SchedExt;
use sked_api::label::OWNER;

use crate::client::{self, ClientError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot list SchedExts")]
    SchedExts(#[source] Box<kube::Error>),
    #[error("cannot list the nodes that have the label {OWNER}")]
    Nodes(#[source] Box<kube::Error>),
    #[error(
        "cannot remove the label {OWNER} from the node {node}: try `kubectl label node {node} {OWNER}-`"
    )]
    Node {
        node: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("cannot start the async runtime")]
    Io(#[from] std::io::Error),
}

pub(crate) fn start(kubeconfig: Option<&Path>) -> Result<(), ReleaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { release(client::connect(kubeconfig).await?).await })
}

async fn release(client: Client) -> Result<(), ReleaseError> {
    if schedexts_exist(&client).await? {
        tracing::info!("SchedExts exist: the nodes keep their labels");
        return Ok(());
    }
    let nodes: Api<Node> = Api::all(client);
    let labelled = nodes
        .list_metadata(&ListParams::default().labels(OWNER))
        .await
        .map_err(|source| ReleaseError::Nodes(Box::new(source)))?;
    let without = Patch::Merge(json!({"metadata": {"labels": {OWNER: null}}}));
    for node in &labelled.items {
        let node = node.name_any();
        match nodes
            .patch_metadata(&node, &PatchParams::default(), &without)
            .await
        {
            Ok(_) => tracing::info!(node, "removed the owner label"),
            // The node was deleted in the meantime.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(source) => {
                let source = Box::new(source);
                return Err(ReleaseError::Node { node, source });
            }
        }
    }
    tracing::info!(
        nodes = labelled.items.len(),
        "no node has an owner label any more"
    );
    Ok(())
}

async fn schedexts_exist(client: &Client) -> Result<bool, ReleaseError> {
    let schedexts: Api<SchedExt> = Api::all(client.clone());
    match schedexts
        .list_metadata(&ListParams::default().limit(1))
        .await
    {
        Ok(left) => Ok(!left.items.is_empty()),
        // The CRD was deleted.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(source) => Err(ReleaseError::SchedExts(Box::new(source))),
    }
}
