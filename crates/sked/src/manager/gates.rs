//! Readiness gates: each scheduler's pod is told what its node's kernel says. A loop of its own
//! beside the SchedExts' reconciliation, because a gate must not wait for the thousand others of
//! its SchedExt, and nobody's status for a thousand gates.
//!
//! What is not known leaves a gate as it is.

use std::num::NonZeroUsize;
use std::sync::Arc;

use http::header;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use serde_json::{Value, json};
use sked_api::label;
use sked_plan::node_state::{Verdict, node_state, verdict};
use sked_plan::{LivePod, ObjectKey};

use crate::leadership::{Leadership, WriteError};
use crate::observe::{kernel_of, names_for};
use crate::queue::Queue;
use crate::retry::{Retry, chain};
use crate::stop::Stop;
use crate::stores::{Seen, Stores, Watched};
use crate::worker;

/// Keeps the gates.
pub(crate) struct Gatekeeper {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) stores: Arc<Stores>,
    /// Pods to look at.
    pub(crate) queue: Arc<Queue>,
}

impl Gatekeeper {
    /// Works until asked to stop.
    pub(crate) async fn run(self: Arc<Self>, concurrency: NonZeroUsize, stop: Stop) {
        let queue = Arc::clone(&self.queue);
        let work = move |key: ObjectKey| {
            let this = Arc::clone(&self);
            async move { this.work(&key).await }
        };
        worker::run(&queue, concurrency, stop, work).await;
    }

    async fn work(&self, key: &ObjectKey) {
        match self.keep(key).await {
            Ok(()) => self.queue.succeeded(key),
            Err(error) => match error.retry() {
                Retry::Never => {}
                Retry::After(delay) => self.queue.after(key, delay),
                Retry::Backoff => {
                    let again_in = self.queue.failed(key);
                    let error = chain(&error);
                    tracing::warn!(pod = %key, ?again_in, "cannot write the readiness gate: {error}");
                }
            },
        }
        self.queue.done(key);
    }

    /// One gate, once.
    async fn keep(&self, key: &ObjectKey) -> Result<(), WriteError> {
        let Some(pod) = self.stores.pods.get(key) else {
            return Ok(());
        };
        let Some(node) = &pod.node else {
            return Ok(());
        };
        let names = names_for(&self.stores, &pod);
        let kernel = kernel_of(&self.stores, node);
        let state = node_state(&pod, &kernel, names.of(&pod));
        let Some(verdict) = verdict(&pod, &state) else {
            return Ok(());
        };
        let report = self.stores.reports.get(&crate::stores::node_key(node));
        // By the node's own clock, as the container's start is, where there is a report.
        let since = report.and_then(|seen| seen.report.since);
        let since = since.unwrap_or_else(Timestamp::now);
        match self.write(&pod, &verdict, since).await {
            // Gone, or another of the same name: the watch says so any moment.
            Err(error) if matches!(error.status(), Some(404 | 409)) => Ok(()),
            written => written,
        }
    }

    async fn write(
        &self,
        pod: &LivePod,
        verdict: &Verdict,
        since: Timestamp,
    ) -> Result<(), WriteError> {
        let ObjectKey { namespace, name } = &pod.key;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
        let request = http::Request::patch(path)
            .header(
                header::CONTENT_TYPE,
                "application/strategic-merge-patch+json",
            )
            .body(patch(pod, verdict, since).to_string().into_bytes())
            .map_err(|error| WriteError::Api(Box::new(kube::Error::HttpError(error))))?;
        let made: Seen<LivePod> = self.leadership.write(self.client.request(request)).await?;
        let version = made.meta.resource_version.unwrap_or_default();
        // Remembered at once, so that what the watch tells of it is no news.
        if let Some(pod) = LivePod::read(made.wire) {
            self.stores.pods.put(&version, pod);
        }
        Ok(())
    }
}

/// Only of this life of the pod.
fn patch(pod: &LivePod, verdict: &Verdict, since: Timestamp) -> Value {
    let Verdict {
        attached,
        reason,
        message,
    } = verdict;
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
