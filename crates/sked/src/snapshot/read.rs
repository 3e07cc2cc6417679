//! Lists what the manager watches, into the same stores.

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, ListParams};
use kube::{Client, Resource};

use super::Scope;
use super::error::{Purpose, ReadError, Unread};
use crate::manager::stores::{Decoded, Source, Store, Stores, Watched};

/// How many objects one list request returns.
const PAGE: u32 = 500;

/// Why a list failed.
enum Failure {
    /// The person has no right to it.
    Forbidden,
    /// The API server does not know the kind.
    Unknown,
    Other(Box<kube::Error>),
}

struct Reader<'a> {
    client: &'a Client,
    scope: &'a Scope,
}

/// The stores, and what could not be read for lack of rights.
pub(super) async fn read(
    client: &Client,
    scope: &Scope,
) -> Result<(Stores, Vec<Unread>), ReadError> {
    let stores = Stores::default();
    let reader = Reader { client, scope };
    let (key, value) = sked_api::label::MANAGED_BY;
    let ours = ListParams::default().labels(&format!("{key}={value}"));
    let (key, value) = sked_api::label::NODE_AGENT;
    let agents = ListParams::default().labels(&format!("{key}={value}"));
    let all = ListParams::default();
    let refused = ListParams::default().fields("reason=FailedCreate,involvedObject.kind=DaemonSet");
    let owner = Purpose::Ownership;
    let read = futures::try_join!(
        reader.namespaced("schedexts", &all, &stores.schedexts, owner),
        reader.namespaced("daemonsets", &all, &stores.daemonsets, owner),
        reader.namespaced("pods", &ours, &stores.pods, owner),
        reader.namespaced("events", &refused, &stores.failed_creates, Purpose::Events),
        reader.clustered("nodes", &stores.nodes, owner),
        reader.clustered("schedextnodes", &stores.reports, Purpose::Kernels),
        reader.agents(&agents, &stores),
    )?;
    let unread = [read.0, read.1, read.2, read.3, read.4, read.5, read.6];
    Ok((stores, unread.into_iter().flatten().collect()))
}

impl Reader<'_> {
    /// Where all namespaces may not be listed, at least the person's own is.
    async fn namespaced<T: Watched>(
        &self,
        resource: &'static str,
        params: &ListParams,
        store: &Store<T>,
        purpose: Purpose,
    ) -> Result<Vec<Unread>, ReadError>
    where
        T::Kind: Resource<Scope = NamespaceResourceScope>,
    {
        let unread = |namespace: Option<&str>| Unread {
            resource,
            namespace: namespace.map(str::to_owned),
            purpose,
        };
        if self.scope.namespaces.is_empty() {
            let all = list(Api::all(self.client.clone()), params, store).await;
            if allowed::<T>(resource, store, all)? {
                return Ok(Vec::new());
            }
            let own = &self.scope.own_namespace;
            let api = Api::namespaced(self.client.clone(), own);
            let listed = list(api, params, store).await;
            return Ok(match allowed::<T>(resource, store, listed)? {
                true => vec![unread(None)],
                false => vec![unread(None), unread(Some(own))],
            });
        }
        let mut missing = Vec::new();
        for namespace in &self.scope.namespaces {
            let api = Api::namespaced(self.client.clone(), namespace);
            let listed = list(api, params, store).await;
            if !allowed::<T>(resource, store, listed)? {
                missing.push(unread(Some(namespace)));
            }
        }
        Ok(missing)
    }

    async fn clustered<T: Watched>(
        &self,
        resource: &'static str,
        store: &Store<T>,
        purpose: Purpose,
    ) -> Result<Vec<Unread>, ReadError> {
        let api = Api::all(self.client.clone());
        let listed = list(api, &ListParams::default(), store).await;
        let unread = Unread {
            resource,
            namespace: None,
            purpose,
        };
        Ok(match allowed::<T>(resource, store, listed)? {
            true => Vec::new(),
            false => vec![unread],
        })
    }

    async fn agents(&self, params: &ListParams, stores: &Stores) -> Result<Vec<Unread>, ReadError> {
        let namespace = &self.scope.agent_namespace;
        let api = Api::namespaced(self.client.clone(), namespace);
        let store = &stores.agents;
        let listed = list(api, params, store).await;
        Ok(match allowed("pods", store, listed)? {
            true => Vec::new(),
            false => vec![Unread {
                resource: "pods",
                namespace: Some(namespace.clone()),
                purpose: Purpose::Kernels,
            }],
        })
    }
}

/// Whether the list was allowed.
fn allowed<T: Watched>(
    resource: &'static str,
    store: &Store<T>,
    listed: Result<(), Failure>,
) -> Result<bool, ReadError> {
    match listed {
        Ok(()) => Ok(true),
        Err(Failure::Forbidden) => Ok(false),
        Err(Failure::Unknown) if T::OPTIONAL => {
            store.set_absent(true);
            Ok(true)
        }
        Err(Failure::Unknown) => Err(ReadError::NotInstalled),
        Err(Failure::Other(source)) => Err(ReadError::List { resource, source }),
    }
}

async fn list<T: Watched>(
    api: Api<Decoded<T>>,
    params: &ListParams,
    store: &Store<T>,
) -> Result<(), Failure> {
    let mut params = params.clone().limit(PAGE);
    loop {
        let page = api.list(&params).await.map_err(|error| match &error {
            kube::Error::Api(status) if status.code == 403 => Failure::Forbidden,
            kube::Error::Api(status) if status.code == 404 => Failure::Unknown,
            _ => Failure::Other(Box::new(error)),
        })?;
        for decoded in page.items {
            let version = decoded.meta.resource_version.clone().unwrap_or_default();
            if let Some(object) = T::read(decoded.raw) {
                store.put(Source::Watch, &version, object);
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(()),
        }
    }
}
