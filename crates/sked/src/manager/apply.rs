//! The only writer of DaemonSets.
//!
//! Each write is bound to what was observed: a create fails when somebody was faster, a replace
//! carries the version of the object that it was laid over, a delete names the uid. The steps are
//! taken in the planner's order and the first that fails ends it: what comes later may rely on
//! what came before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::{Api, DeleteParams, PostParams, Preconditions, PropagationPolicy};
use kube::{Client, core::Request};
use sked_plan::daemonset::overlay;
use sked_plan::plan::{Attempt, Failure, Plan, Step};
use sked_plan::shape::{Shape, differences, shape};
use sked_plan::{LiveDaemonSet, ObjectKey, Observed, Uid};

use crate::leadership::{Leadership, WriteError};
use crate::stores::{Stores, Whole};

/// Writes DaemonSets.
pub(crate) struct Applier {
    client: Client,
    leadership: Leadership,
    stores: Arc<Stores>,
    settled: Mutex<HashMap<Uid, Settled>>,
}

/// What the API server made of something that we wrote, though it is not what we wrote: a mutating
/// webhook or a default that we do not know. Writing it again would be a fight without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settled {
    wanted: Shape,
    became: Shape,
}

/// A step that failed.
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
            settled: Mutex::default(),
        }
    }

    /// Strikes out what was tried before and came to nothing.
    pub(crate) fn forgo(&self, plan: &mut Plan, observed: &Observed) {
        plan.steps.retain(|step| match step {
            Step::Create(_) | Step::Delete { .. } => true,
            Step::Replace { wanted, uid } => {
                let known = self.settled().get(uid).copied();
                let live = observed.daemonsets.iter().find(|live| live.uid == *uid);
                let (Some(known), Some(live)) = (known, live) else {
                    return true;
                };
                let wanted = serde_json::to_value(wanted).map(|wanted| shape(&wanted));
                known.became != live.shape || wanted.ok() != Some(known.wanted)
            }
        });
    }

    /// Takes the steps; how many were writes.
    pub(crate) async fn apply(&self, steps: &[Step]) -> Result<usize, ApplyError> {
        let mut writes = 0;
        for step in steps {
            let written = match step {
                Step::Create(wanted) => self.create(wanted).await,
                Step::Replace { wanted, uid } => self.replace(wanted, uid).await,
                Step::Delete { key, uid } => self.delete(key, uid).await,
            };
            let (attempt, key) = named(step);
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

    async fn create(&self, wanted: &DaemonSet) -> Result<bool, WriteError> {
        let key = key_of(wanted);
        let request = Request::new(Self::path(&key));
        let body = serde_json::to_vec(wanted).map_err(broken)?;
        let request = request
            .create(&PostParams::default(), body)
            .map_err(unsent)?;
        let made = match self.leadership.write(self.client.request(request)).await {
            Err(error) if error.status() == Some(409) => return self.meet(&key, error).await,
            made => made?,
        };
        // Whether it became what was wanted is for the next plan to see.
        self.remember(&made);
        tracing::info!(daemonset = key.name, "created");
        Ok(true)
    }

    /// Somebody was faster, and the watch has not told us yet: look at it, so that the next plan
    /// knows.
    async fn meet(&self, key: &ObjectKey, error: WriteError) -> Result<bool, WriteError> {
        if let Some(live) = self.get(key).await? {
            self.remember(&live);
        }
        Err(error)
    }

    async fn replace(&self, wanted: &DaemonSet, uid: &Uid) -> Result<bool, WriteError> {
        let key = key_of(wanted);
        let rendered = serde_json::to_value(wanted).map_err(broken)?;
        let Some(Whole(live)) = self.get(&key).await? else {
            return Ok(false);
        };
        if live["metadata"]["uid"] != *uid.0 {
            return Ok(false);
        }
        if shape(&live) == shape(&rendered) {
            self.note(&Whole(live), wanted)?;
            return Ok(false);
        }
        let differs = differences(&live, &rendered);
        let live: DaemonSet = serde_json::from_value(live).map_err(broken)?;
        let body = serde_json::to_vec(&overlay(live, wanted)).map_err(broken)?;
        let request = Request::new(Self::path(&key));
        let request = request.replace(&key.name, &PostParams::default(), body);
        let request = request.map_err(unsent)?;
        let made = self.leadership.write(self.client.request(request)).await?;
        self.note(&made, wanted)?;
        tracing::info!(daemonset = key.name, ?differs, "put right");
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
            // Gone, or another one by now.
            Err(error) if matches!(error.status(), Some(404 | 409)) => {}
            Err(error) => return Err(error),
        }
        self.stores.daemonsets.remove(key);
        self.settled().remove(uid);
        Ok(true)
    }

    /// Remembers what the API server has now, before the watch tells.
    fn remember(&self, Whole(made): &Whole) -> Option<Arc<LiveDaemonSet>> {
        let live = LiveDaemonSet::read(made).ok()?;
        let key = live.key.clone();
        let daemonsets = &self.stores.daemonsets;
        daemonsets.put(&live.resource_version.clone(), live);
        daemonsets.get(&key)
    }

    /// Remembers it, and whether it is what was wanted.
    fn note(&self, made: &Whole, wanted: &DaemonSet) -> Result<(), WriteError> {
        let Some(live) = self.remember(made) else {
            return Ok(());
        };
        let rendered = serde_json::to_value(wanted).map_err(broken)?;
        let wanted = shape(&rendered);
        if live.shape == wanted {
            self.settled().remove(&live.uid);
        } else {
            tracing::warn!(
                daemonset = live.key.name,
                differs = ?differences(&made.0, &rendered),
                "the API server, or a webhook in it, made something else of it; it stays so"
            );
            let became = live.shape;
            let lives = |uid: &Uid| !self.stores.daemonsets.group(uid).is_empty();
            self.settled().retain(|uid, _| lives(uid));
            self.settled()
                .insert(live.uid.clone(), Settled { wanted, became });
        }
        Ok(())
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Whole>, WriteError> {
        let request =
            Request::new(Self::path(key)).get(&key.name, &kube::api::GetParams::default());
        let request = request.map_err(unsent)?;
        match self.leadership.write(self.client.request(request)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn path(key: &ObjectKey) -> String {
        <DaemonSet as kube::Resource>::url_path(&(), Some(&key.namespace))
    }

    fn settled(&self) -> MutexGuard<'_, HashMap<Uid, Settled>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ApplyError {
    /// As the planner wants to hear it.
    pub(crate) fn failure(&self) -> Failure {
        Failure {
            attempt: self.attempt,
            key: self.key.clone(),
            status: self.source.status(),
            reason: self.source.word(),
            message: self.source.said(),
        }
    }
}

fn named(step: &Step) -> (Attempt, ObjectKey) {
    match step {
        Step::Create(wanted) => (Attempt::Create, key_of(wanted)),
        Step::Replace { wanted, uid: _ } => (Attempt::Replace, key_of(wanted)),
        Step::Delete { key, uid: _ } => (Attempt::Delete, key.clone()),
    }
}

fn verb(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Create => "create",
        Attempt::Replace => "put right",
        Attempt::Delete => "delete",
    }
}

fn key_of(wanted: &DaemonSet) -> ObjectKey {
    ObjectKey {
        namespace: wanted.metadata.namespace.clone().unwrap_or_default(),
        name: wanted.metadata.name.clone().unwrap_or_default(),
    }
}

fn broken(error: serde_json::Error) -> WriteError {
    WriteError::Api(Box::new(kube::Error::SerdeError(error)))
}

fn unsent(error: kube::core::request::Error) -> WriteError {
    WriteError::Api(Box::new(kube::Error::BuildRequest(error)))
}
