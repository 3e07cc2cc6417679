//! Writes the readiness gates of schedulers' pods. It runs beside the reconciliation of SchedExts:
//! a gate must not wait for the other pods of its SchedExt, and no status for thousands of gates.
//!
//! An unknown kernel state leaves a gate as it is.

use std::num::NonZeroUsize;
use std::sync::Arc;

use http::header;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use serde_json::{Value, json};
use sked_api::label;
use sked_plan::node_state::{GateUpdate, gate_update, node_state};
use sked_plan::{LivePod, ObjectKey};

use crate::error_chain::chain;
use crate::manager::leadership::Leadership;
use crate::manager::observe::{kernel_of, names_for};
use crate::manager::ownership::is_ours;
use crate::manager::queue::Queue;
use crate::manager::stores::{Decoded, Stores, Watched, node_key};
use crate::manager::worker;
use crate::manager::write_error::{Retry, WriteError};
use crate::stop::Stop;

pub(crate) struct GateWriter {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
}

impl GateWriter {
    /// Runs until a stop is requested.
    pub(crate) async fn run(self: Arc<Self>, concurrency: NonZeroUsize, stop: Stop) {
        let queue = Arc::clone(&self.queue);
        let work = move |key: ObjectKey| {
            let this = Arc::clone(&self);
            async move { this.work(&key).await }
        };
        worker::run(&queue, concurrency, stop, work).await;
    }

    async fn work(&self, key: &ObjectKey) {
        match self.update(key).await {
            Ok(()) => self.queue.succeeded(key),
            Err(error) => match error.retry() {
                Retry::Never => {}
                Retry::Outdated => drop(self.queue.failed(key)),
                Retry::Backoff => {
                    let again_in = self.queue.failed(key);
                    let error = chain(&error);
                    tracing::warn!(pod = %key, ?again_in, "cannot write the readiness gate: {error}");
                }
            },
        }
        self.queue.done(key);
    }

    async fn update(&self, key: &ObjectKey) -> Result<(), WriteError> {
        let Some(pod) = self.stores.pods.get(key) else {
            return Ok(());
        };
        let Some(node) = &pod.node else {
            return Ok(());
        };
        if !is_ours(&self.stores, &pod) {
            return Ok(());
        }
        let names = names_for(&self.stores, &pod);
        let kernel = kernel_of(&self.stores, node);
        let state = node_state(&pod, &kernel, names.of(&pod));
        let Some(update) = gate_update(&pod, &state) else {
            return Ok(());
        };
        let report = self.stores.reports.get(&node_key(node));
        // The node's clock, as for the container's start, if there is a report.
        let since = report.and_then(|seen| seen.report.since);
        let since = since.unwrap_or_else(Timestamp::now);
        match self.write(&pod, &update, since).await {
            // The pod is gone or was replaced: the watch reports it shortly.
            Err(error) if matches!(error.status(), Some(404 | 409)) => Ok(()),
            written => written,
        }
    }

    async fn write(
        &self,
        pod: &LivePod,
        update: &GateUpdate,
        since: Timestamp,
    ) -> Result<(), WriteError> {
        let ObjectKey { namespace, name } = &pod.key;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
        let request = http::Request::patch(path)
            .header(
                header::CONTENT_TYPE,
                "application/strategic-merge-patch+json",
            )
            .body(patch(pod, update, since).to_string().into_bytes())
            .map_err(|error| WriteError::Api(Box::new(kube::Error::HttpError(error))))?;
        let response: Decoded<LivePod> =
            self.leadership.write(self.client.request(request)).await?;
        let version = response.meta.resource_version.unwrap_or_default();
        // Stored at once, so that the watch's event for it is no change.
        if let Some(pod) = LivePod::read(response.raw) {
            self.stores.pods.update(&version, pod);
        }
        Ok(())
    }
}

/// The uid makes the patch fail if another pod has the name by now.
fn patch(pod: &LivePod, update: &GateUpdate, since: Timestamp) -> Value {
    let GateUpdate {
        attached,
        reason,
        message,
    } = update;
    let whole = Timestamp::from_second(since.as_second()).unwrap_or(since);
    let condition = json!({
        "type": label::ATTACHED_GATE,
        "status": if *attached { "True" } else { "False" },
        "reason": reason,
        "message": message,
        "lastTransitionTime": Time(whole),
    });
    json!({"metadata": {"uid": pod.uid.0}, "status": {"conditions": [condition]}})
}
