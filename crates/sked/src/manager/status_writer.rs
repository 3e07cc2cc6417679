//! The only writer of statuses and events. Called on error paths too: what went wrong is what a
//! status is for.
//!
//! A status is written only when it differs from the one that is there, and over the version that
//! was looked at. Events follow from what changed between the two, so that a restart, which
//! changes nothing, tells nothing.

mod merge;
mod unreadable;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use kube::runtime::events::{Event, EventType, Recorder, Reporter as Author};
use kube::{Client, Resource};
use serde_json::{Value, json};
use sked_api::{SchedExt, SchedExtStatus};
use sked_plan::status::{EventKind, events};
use sked_plan::{ObjectKey, status};

use crate::leadership::{Leadership, WriteError};
use crate::stores::{SchedExtSeen, Stores, Unreadable, Whole};

/// Who the events are from.
const AUTHOR: &str = "sked-controller";

/// Writes statuses and events.
pub(crate) struct Reporter {
    client: Client,
    leadership: Leadership,
    stores: Arc<Stores>,
    recorder: Recorder,
}

/// A report that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the status of the SchedExt {key}")]
pub(crate) struct ReportError {
    key: ObjectKey,
    #[source]
    pub(crate) source: WriteError,
}

impl Reporter {
    pub(crate) fn new(client: Client, leadership: Leadership, stores: Arc<Stores>) -> Self {
        let author = Author {
            controller: AUTHOR.to_owned(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(client.clone(), author),
            client,
            leadership,
            stores,
        }
    }

    /// Says what became of a SchedExt.
    pub(crate) async fn report(
        &self,
        schedext: &SchedExt,
        status: &SchedExtStatus,
    ) -> Result<(), ReportError> {
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
            self.tell(&schedext.object_ref(&()), event).await;
        }
        Ok(())
    }

    /// Says that a SchedExt cannot be read.
    pub(crate) async fn unreadable(&self, unreadable: &Unreadable) -> Result<(), ReportError> {
        let now = jiff::Timestamp::now();
        let Some(after) = unreadable::status(unreadable, now) else {
            return Ok(());
        };
        let Unreadable {
            key,
            resource_version,
            status: before,
            sentence,
            ..
        } = unreadable;
        self.write(key, resource_version, before, &after).await?;
        let event = status::Event {
            kind: EventKind::Warning,
            reason: unreadable::REASON.to_owned(),
            message: sentence.clone(),
        };
        self.tell(&unreadable::reference(unreadable), event).await;
        Ok(())
    }

    async fn write(
        &self,
        key: &ObjectKey,
        version: &str,
        before: &Value,
        after: &Value,
    ) -> Result<(), ReportError> {
        let patch = json!({
            "metadata": {"resourceVersion": version},
            "status": merge::difference(before, after),
        });
        let written = self.patch(key, &Patch::Merge(patch)).await;
        match written {
            Ok(Whole(object)) => {
                let version = object["metadata"]["resourceVersion"].as_str();
                let version = version.unwrap_or_default().to_owned();
                self.stores
                    .schedexts
                    .put(&version, SchedExtSeen::new(object));
                Ok(())
            }
            // Deleted meanwhile: nobody is left to be told.
            Err(error) if error.status() == Some(404) => Ok(()),
            Err(source) => Err(ReportError {
                key: key.clone(),
                source,
            }),
        }
    }

    async fn patch(&self, key: &ObjectKey, patch: &Patch<Value>) -> Result<Whole, WriteError> {
        let path = SchedExt::url_path(&(), Some(&key.namespace));
        let params = PatchParams::default();
        let request = Request::new(path).patch_subresource("status", &key.name, &params, patch);
        let request =
            request.map_err(|error| WriteError::Api(Box::new(kube::Error::BuildRequest(error))))?;
        self.leadership.write(self.client.request(request)).await
    }

    /// An event that cannot be written is no reason to do anything again.
    async fn tell(&self, about: &ObjectReference, event: status::Event) {
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
        let told = crate::retry::chain(&error);
        match error {
            // Somebody can do something about it.
            WriteError::NotGranted(_) => tracing::warn!("cannot write an event: {told}"),
            _ => tracing::debug!("cannot write an event: {told}"),
        }
    }
}
