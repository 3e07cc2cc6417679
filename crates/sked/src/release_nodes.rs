//! `sked release-nodes`: takes every owner label off the nodes when sked is gone for good. The
//! chart runs it after its removal. While SchedExts are left it does nothing: their DaemonSets go
//! by these labels, and a new installation picks both up.

use std::path::Path;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use sked_api::SchedExt;
use sked_api::label::OWNER;

use crate::client::{self, ClientError};

/// Why labels are left.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    /// No client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nobody knows whether SchedExts are left.
    #[error("cannot list SchedExts")]
    SchedExts(#[source] Box<kube::Error>),
    /// Nobody knows which nodes have the label.
    #[error("cannot list the nodes that have the label {OWNER}")]
    Nodes(#[source] Box<kube::Error>),
    /// A node keeps its label.
    #[error(
        "cannot take the label {OWNER} off the node {node}: `kubectl label node {node} {OWNER}-` does"
    )]
    Node {
        /// Which.
        node: String,
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
    /// The runtime.
    #[error("the system refused")]
    Io(#[from] std::io::Error),
}

/// Does it, once.
pub(crate) fn start(kubeconfig: Option<&Path>) -> Result<(), ReleaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { release(client::connect(kubeconfig).await?).await })
}

async fn release(client: Client) -> Result<(), ReleaseError> {
    if schedexts_are_left(&client).await? {
        tracing::info!("SchedExts are left: the nodes keep their labels for them");
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
            Ok(_) => tracing::info!(node, "released"),
            // The node itself went meanwhile.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(source) => {
                let source = Box::new(source);
                return Err(ReleaseError::Node { node, source });
            }
        }
    }
    tracing::info!(nodes = labelled.items.len(), "no node has an owner label");
    Ok(())
}

async fn schedexts_are_left(client: &Client) -> Result<bool, ReleaseError> {
    let schedexts: Api<SchedExt> = Api::all(client.clone());
    match schedexts
        .list_metadata(&ListParams::default().limit(1))
        .await
    {
        Ok(left) => Ok(!left.items.is_empty()),
        // The definition itself is gone.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(source) => Err(ReleaseError::SchedExts(Box::new(source))),
    }
}
