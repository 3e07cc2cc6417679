//! The only writer of statuses and events of SchedExts, also after failed reconciliations.
//!
//! A status is written only if it differs from the current one, and only over the version that was
//! read. Events are derived from the difference of the two statuses, so that a restart of the
//! manager, which changes nothing, causes none.

mod merge_patch;
mod unreadable;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use serde_json::{Value, json};
use sked_api::{SchedExt, SchedExtStatus};
use sked_plan::status::{EventKind, events};
use sked_plan::{ObjectKey, status};

use crate::error_chain::chain;
use crate::manager::leadership::Leadership;
use crate::manager::stores::{FullObject, SchedExtEntry, Stores, Unreadable};
use crate::manager::write_error::WriteError;

/// The reporting controller of our events.
const REPORTER: &str = "sked-controller";

pub(crate) struct StatusWriter {
    client: Client,
    leadership: Leadership,
    stores: Arc<Stores>,
    recorder: Recorder,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write the status of the SchedExt {key}")]
pub(crate) struct StatusWriteError {
    key: ObjectKey,
    #[source]
    pub(crate) source: WriteError,
}

impl StatusWriter {
    pub(crate) fn new(client: Client, leadership: Leadership, stores: Arc<Stores>) -> Self {
        let reporter = Reporter {
            controller: REPORTER.to_owned(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            leadership,
            stores,
        }
    }

    pub(crate) async fn write_status(
        &self,
        schedext: &SchedExt,
        status: &SchedExtStatus,
    ) -> Result<(), StatusWriteError> {
        let old = schedext.status.as_ref();
        if old == Some(status) {
            return Ok(());
        }
        let version = schedext
            .metadata
            .resource_version
            .clone()
            .unwrap_or_default();
        let key = sked_plan::part::key(schedext);
        let (before, after) = (json!(old), json!(status));
        self.write(&key, &version, &before, &after).await?;
        for event in events(old, status) {
            self.publish(&schedext.object_ref(&()), event).await;
        }
        Ok(())
    }

    /// Reports that a SchedExt cannot be parsed.
    pub(crate) async fn write_unreadable(
        &self,
        unreadable: &Unreadable,
    ) -> Result<(), StatusWriteError> {
        let now = jiff::Timestamp::now();
        let Some(after) = unreadable::status(unreadable, now) else {
            return Ok(());
        };
        let Unreadable {
            key,
            resource_version,
            status: before,
            message,
            ..
        } = unreadable;
        self.write(key, resource_version, before, &after).await?;
        let event = status::Event {
            kind: EventKind::Warning,
            reason: unreadable::REASON.to_owned(),
            message: message.clone(),
        };
        self.publish(&unreadable::reference(unreadable), event)
            .await;
        Ok(())
    }

    async fn write(
        &self,
        key: &ObjectKey,
        version: &str,
        before: &Value,
        after: &Value,
    ) -> Result<(), StatusWriteError> {
        let patch = json!({
            "metadata": {"resourceVersion": version},
            "status": merge_patch::difference(before, after),
        });
        let written = self.patch(key, &Patch::Merge(patch)).await;
        match written {
            Ok(FullObject(object)) => {
                let version = object["metadata"]["resourceVersion"].as_str();
                let version = version.unwrap_or_default().to_owned();
                let entry = SchedExtEntry::new(object);
                self.stores.schedexts.update(&version, entry);
                Ok(())
            }
            // It was deleted in the meantime.
            Err(error) if error.status() == Some(404) => Ok(()),
            Err(source) => Err(StatusWriteError {
                key: key.clone(),
                source,
            }),
        }
    }

    async fn patch(&self, key: &ObjectKey, patch: &Patch<Value>) -> Result<FullObject, WriteError> {
        let path = SchedExt::url_path(&(), Some(&key.namespace));
        let params = PatchParams::default();
        let request = Request::new(path).patch_subresource("status", &key.name, &params, patch);
        let request =
            request.map_err(|error| WriteError::Api(Box::new(kube::Error::BuildRequest(error))))?;
        self.leadership.write(self.client.request(request)).await
    }

    /// A failed event is not retried.
    async fn publish(&self, about: &ObjectReference, event: status::Event) {
        let event = Event {
            type_: match event.kind {
                EventKind::Normal => EventType::Normal,
                EventKind::Warning => EventType::Warning,
            },
            reason: event.reason,
            note: Some(event.message),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        let written = self
            .leadership
            .write(self.recorder.publish(&event, about))
            .await;
        let Err(error) = written else {
            return;
        };
        let cause = chain(&error);
        match error {
            // An administrator can fix this.
            WriteError::NotGranted(_) => tracing::warn!("cannot write an event: {cause}"),
            _ => tracing::debug!("cannot write an event: {cause}"),
        }
    }
}
