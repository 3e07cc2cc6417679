//! Executes plans. This is the only writer of DaemonSets.
//!
//! Each write is bound to what was observed: a create fails if the object exists, a replace carries
//! the resource version of the object that was read, a delete names the uid. Steps run in the
//! planner's order and stop at the first failure, because later steps may depend on earlier ones.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::{Api, DeleteParams, PostParams, Preconditions, PropagationPolicy};
use kube::{Client, core::Request};
use sked_api::label;
use sked_plan::daemonset::overlay;
use sked_plan::fingerprint::{differences, fingerprint};
use sked_plan::observed::FutileReplace;
use sked_plan::plan::{Attempt, Failure, PlanStep};
use sked_plan::{LiveDaemonSet, ObjectKey, Uid};

use crate::manager::futile_replaces::FutileReplaces;
use crate::manager::leadership::Leadership;
use crate::manager::stores::{FullObject, Source, Stores};
use crate::manager::write_error::WriteError;

pub(crate) struct Applier {
    client: Client,
    leadership: Leadership,
    stores: Arc<Stores>,
    futile: FutileReplaces,
}

/// A step failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} the DaemonSet {key}", verb(*attempt))]
pub(crate) struct ApplyError {
    attempt: Attempt,
    key: ObjectKey,
    #[source]
    pub(crate) source: WriteError,
}

impl Applier {
    pub(crate) fn new(client: Client, leadership: Leadership, stores: Arc<Stores>) -> Self {
        Self {
            client,
            leadership,
            stores,
            futile: FutileReplaces::default(),
        }
    }

    /// The replaces that had no effect.
    pub(crate) fn futile(&self) -> &FutileReplaces {
        &self.futile
    }

    /// Executes the steps. Returns how many of them wrote something.
    pub(crate) async fn apply(&self, steps: &[PlanStep]) -> Result<usize, ApplyError> {
        let mut writes = 0;
        for step in steps {
            let written = match step {
                PlanStep::Create(desired) => self.create(desired).await,
                PlanStep::Replace { desired, uid } => self.replace(desired, uid).await,
                PlanStep::Touch { key, uid, at } => self.touch(key, uid, *at).await,
                PlanStep::Delete { key, uid } => self.delete(key, uid).await,
            };
            let (attempt, key) = target(step);
            match written {
                Ok(true) => writes += 1,
                Ok(false) => {}
                Err(source) => {
                    return Err(ApplyError {
                        attempt,
                        key,
                        source,
                    });
                }
            }
        }
        Ok(writes)
    }

    async fn create(&self, desired: &DaemonSet) -> Result<bool, WriteError> {
        let key = key_of(desired);
        let request = Request::new(Self::path(&key));
        let body = serde_json::to_vec(desired).map_err(invalid_json)?;
        let request = request
            .create(&PostParams::default(), body)
            .map_err(invalid_request)?;
        let created = match self.leadership.write(self.client.request(request)).await {
            Err(error) if error.status() == Some(409) => {
                return self.read_existing(&key, error).await;
            }
            created => created?,
        };
        // The next plan compares it with the desired one.
        self.store(&created);
        tracing::info!(daemonset = key.name, "created");
        Ok(true)
    }

    /// Another client created it first and the watch has not reported it yet: read it, so that the
    /// next plan knows about it.
    async fn read_existing(&self, key: &ObjectKey, error: WriteError) -> Result<bool, WriteError> {
        if let Some(live) = self.get(key).await? {
            self.store(&live);
        }
        Err(error)
    }

    async fn replace(&self, desired: &DaemonSet, uid: &Uid) -> Result<bool, WriteError> {
        let key = key_of(desired);
        let rendered = serde_json::to_value(desired).map_err(invalid_json)?;
        let Some(FullObject(live)) = self.get(&key).await? else {
            return Ok(false);
        };
        if live["metadata"]["uid"] != *uid.0 {
            return Ok(false);
        }
        if fingerprint(&live) == fingerprint(&rendered) {
            self.store_result(&FullObject(live), desired)?;
            return Ok(false);
        }
        let differs = differences(&live, &rendered);
        let live: DaemonSet = serde_json::from_value(live).map_err(invalid_json)?;
        let body = serde_json::to_vec(&overlay(live, desired)).map_err(invalid_json)?;
        let request = Request::new(Self::path(&key));
        let request = request.replace(&key.name, &PostParams::default(), body);
        let request = request.map_err(invalid_request)?;
        let replaced = self.leadership.write(self.client.request(request)).await?;
        self.store_result(&replaced, desired)?;
        tracing::info!(daemonset = key.name, ?differs, "replaced");
        Ok(true)
    }

    async fn touch(&self, key: &ObjectKey, uid: &Uid, at: Timestamp) -> Result<bool, WriteError> {
        let Some(FullObject(mut live)) = self.get(key).await? else {
            return Ok(false);
        };
        if live["metadata"]["uid"] != *uid.0 {
            return Ok(false);
        }
        live["metadata"]["annotations"][label::TOUCHED_AT] = at.to_string().into();
        let body = serde_json::to_vec(&live).map_err(invalid_json)?;
        let request = Request::new(Self::path(key));
        let request = request.replace(&key.name, &PostParams::default(), body);
        let request = request.map_err(invalid_request)?;
        let FullObject(touched) = self.leadership.write(self.client.request(request)).await?;
        if let Ok(live) = LiveDaemonSet::read(&touched) {
            let version = live.resource_version.clone();
            self.stores.daemonsets.update(&version, live);
        }
        tracing::info!(
            daemonset = key.name,
            "touched, because pods wait for nodes of others"
        );
        Ok(true)
    }

    async fn delete(&self, key: &ObjectKey, uid: &Uid) -> Result<bool, WriteError> {
        let daemonsets: Api<DaemonSet> = Api::namespaced(self.client.clone(), &key.namespace);
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.0.clone()),
                resource_version: None,
            }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let deletion = daemonsets.delete(&key.name, &params);
        match self.leadership.write(deletion).await {
            Ok(_) => tracing::info!(daemonset = key.name, "deleted"),
            // It is gone, or another object has the name.
            Err(error) if matches!(error.status(), Some(404 | 409)) => {}
            Err(error) => return Err(error),
        }
        self.stores.daemonsets.remove(Source::OwnWrite, key);
        self.futile.remove(uid);
        Ok(true)
    }

    /// Stores the API server's response, before the watch reports it.
    fn store(&self, FullObject(object): &FullObject) {
        if let Ok(live) = LiveDaemonSet::read(object) {
            let version = live.resource_version.clone();
            self.stores.daemonsets.put(Source::OwnWrite, &version, live);
        }
    }

    /// Stores the response to a replace, and records whether the replace was futile.
    fn store_result(&self, stored: &FullObject, desired: &DaemonSet) -> Result<(), WriteError> {
        let FullObject(object) = stored;
        let Ok(live) = LiveDaemonSet::read(object) else {
            return Ok(());
        };
        let daemonsets = &self.stores.daemonsets;
        let key = live.key.clone();
        daemonsets.update(&live.resource_version.clone(), live);
        let Some(live) = daemonsets.get(&key) else {
            return Ok(());
        };
        let rendered = serde_json::to_value(desired).map_err(invalid_json)?;
        let desired = fingerprint(&rendered);
        if live.fingerprint == desired {
            self.futile.remove(&live.uid);
        } else {
            tracing::warn!(
                daemonset = live.key.name,
                differs = ?differences(&stored.0, &rendered),
                "the API server or a mutating webhook stored something else; it is not replaced again"
            );
            let stored = live.fingerprint;
            let exists = |uid: &Uid| !self.stores.daemonsets.group(uid).is_empty();
            let futile = FutileReplace { desired, stored };
            self.futile.add(live.uid.clone(), futile, exists);
        }
        Ok(())
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<FullObject>, WriteError> {
        let request =
            Request::new(Self::path(key)).get(&key.name, &kube::api::GetParams::default());
        let request = request.map_err(invalid_request)?;
        match self.leadership.write(self.client.request(request)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn path(key: &ObjectKey) -> String {
        <DaemonSet as kube::Resource>::url_path(&(), Some(&key.namespace))
    }
}

impl ApplyError {
    /// For the status.
    pub(crate) fn failure(&self) -> Failure {
        Failure {
            attempt: self.attempt,
            key: self.key.clone(),
            status: self.source.status(),
            reason: self.source.api_reason(),
            message: self.source.message(),
        }
    }
}

fn target(step: &PlanStep) -> (Attempt, ObjectKey) {
    match step {
        PlanStep::Create(desired) => (Attempt::Create, key_of(desired)),
        PlanStep::Replace { desired, uid: _ } => (Attempt::Replace, key_of(desired)),
        PlanStep::Touch { key, .. } => (Attempt::Touch, key.clone()),
        PlanStep::Delete { key, uid: _ } => (Attempt::Delete, key.clone()),
    }
}

fn verb(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Create => "create",
        Attempt::Replace => "replace",
        Attempt::Touch => "touch",
        Attempt::Delete => "delete",
    }
}

fn key_of(desired: &DaemonSet) -> ObjectKey {
    ObjectKey {
        namespace: desired.metadata.namespace.clone().unwrap_or_default(),
        name: desired.metadata.name.clone().unwrap_or_default(),
    }
}

fn invalid_json(error: serde_json::Error) -> WriteError {
    WriteError::Api(Box::new(kube::Error::SerdeError(error)))
}

fn invalid_request(error: kube::core::request::Error) -> WriteError {
    WriteError::Api(Box::new(kube::Error::BuildRequest(error)))
}
