//! Reads and writes SchedExts. Nothing else is written by this program.

use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::Status;
use serde_json::{Value, json};
use sked_api::SchedExt;
use sked_plan::ObjectKey;

use crate::cluster::Cluster;
use crate::error::Error;

const RESOURCE: &str = "schedexts";

/// A SchedExt as it is stored, with fields that this version may not know.
pub(crate) struct Stored {
    pub(crate) key: ObjectKey,
    pub(crate) object: DynamicObject,
    pub(crate) schedext: SchedExt,
}

pub(crate) struct SchedExts<'a> {
    cluster: &'a Cluster,
}

impl<'a> SchedExts<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> Self {
        Self { cluster }
    }

    /// The one of this name in the request's namespace.
    pub(crate) async fn named(&self, name: &str) -> Result<Stored, Error> {
        self.get(&self.key(name)).await
    }

    pub(crate) fn key(&self, name: &str) -> ObjectKey {
        ObjectKey {
            namespace: self.cluster.namespace.clone(),
            name: name.to_owned(),
        }
    }

    pub(crate) async fn get(&self, key: &ObjectKey) -> Result<Stored, Error> {
        let found = self.api(&key.namespace).get(&key.name).await;
        match found {
            Ok(object) => stored(key, object),
            Err(error) if code(&error) == Some(404) => Err(self.unknown(key).await),
            Err(error) => Err(failed("get", key, error)),
        }
    }

    /// All of a namespace, or of all.
    pub(crate) async fn list(&self, namespace: Option<&str>) -> Result<Vec<SchedExt>, Error> {
        let api = match namespace {
            Some(namespace) => self.api(namespace),
            None => Api::all_with(self.cluster.client.clone(), &resource()),
        };
        let listed = api.list(&ListParams::default()).await;
        let listed = listed.map_err(|error| match code(&error) {
            Some(404) => Error::NotInstalled,
            _ => {
                let place = match namespace {
                    Some(namespace) => in_namespace(namespace),
                    None => "in all namespaces".to_owned(),
                };
                forbidden(&error, "list", place).unwrap_or_else(|| Error::Api {
                    verb: "list",
                    what: "SchedExts".to_owned(),
                    source: Box::new(error),
                })
            }
        })?;
        let read = listed.items.into_iter();
        Ok(read.filter_map(|one| one.try_parse().ok()).collect())
    }

    /// Changes some fields, by a merge patch.
    pub(crate) async fn patch(&self, key: &ObjectKey, patch: &Value) -> Result<Stored, Error> {
        let params = PatchParams::default();
        let patched = self
            .api(&key.namespace)
            .patch(&key.name, &params, &Patch::Merge(patch))
            .await;
        stored(key, patched.map_err(|error| failed("patch", key, error))?)
    }

    /// Writes all of it, unless somebody else has written it since it was read.
    pub(crate) async fn replace(&self, stored: &Stored) -> Result<(), Error> {
        let key = &stored.key;
        let params = PostParams::default();
        let replaced = self
            .api(&key.namespace)
            .replace(&key.name, &params, &stored.object)
            .await;
        match replaced {
            Ok(_) => Ok(()),
            Err(error) if code(&error) == Some(409) => Err(Error::Conflict(key.clone())),
            Err(error) => Err(failed("update", key, error)),
        }
    }

    /// Lets the API server check a SchedExt as if it were applied.
    pub(crate) async fn dry_run(&self, key: &ObjectKey, schedext: &SchedExt) -> Result<(), Error> {
        let params = PatchParams::apply("kubectl-sx").dry_run().force();
        let params = params.validation_strict();
        let object = json!({
            "apiVersion": "sked.schedkit.io/v1",
            "kind": "SchedExt",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "spec": schedext.spec,
        });
        let applied = self
            .api(&key.namespace)
            .patch(&key.name, &params, &Patch::Apply(&object))
            .await;
        applied
            .map(drop)
            .map_err(|error| failed("patch", key, error))
    }

    /// Says what there is instead.
    async fn unknown(&self, key: &ObjectKey) -> Error {
        let known = match self.list(Some(&key.namespace)).await {
            Err(Error::NotInstalled) => return Error::NotInstalled,
            Err(_) => "see kubectl get schedexts".to_owned(),
            Ok(known) => {
                let names: Vec<_> = known
                    .iter()
                    .filter_map(|one| one.metadata.name.clone())
                    .collect();
                match names.is_empty() {
                    true => "the namespace has none; choose another with -n".to_owned(),
                    false => format!("the namespace has {}", names.join(", ")),
                }
            }
        };
        Error::NoSchedExt {
            key: key.clone(),
            known,
        }
    }

    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client.clone(), namespace, &resource())
    }
}

fn resource() -> ApiResource {
    ApiResource::erase::<SchedExt>(&())
}

fn stored(key: &ObjectKey, object: DynamicObject) -> Result<Stored, Error> {
    let parsed = object.clone().try_parse();
    Ok(Stored {
        key: key.clone(),
        schedext: parsed.map_err(|error| Error::Unreadable {
            key: key.clone(),
            message: error.to_string(),
        })?,
        object,
    })
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

fn in_namespace(namespace: &str) -> String {
    format!("in the namespace {namespace}")
}

/// Quotas, policies and terminating namespaces are reported as 403 too; only the authorizer's
/// message has this form.
fn forbidden(error: &kube::Error, verb: &'static str, place: String) -> Option<Error> {
    let is_authorizer = |status: &Status| {
        status.code == 403
            && status.message.contains(" cannot ")
            && status.message.contains(" resource ")
    };
    match error {
        kube::Error::Api(status) if is_authorizer(status) => Some(Error::Forbidden {
            verb,
            resource: RESOURCE,
            place,
            message: status.message.clone(),
        }),
        _ => None,
    }
}

fn failed(verb: &'static str, key: &ObjectKey, error: kube::Error) -> Error {
    if let Some(forbidden) = forbidden(&error, verb, in_namespace(&key.namespace)) {
        return forbidden;
    }
    match &error {
        // An admission policy, or a rule of the CRD: its message says what is wrong.
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422) => {
            Error::Rejected(status.message.clone())
        }
        _ => Error::Api {
            verb,
            what: format!("the SchedExt {key}"),
            source: Box::new(error),
        },
    }
}
