//! Checks that the admission policies restrict this manager's own account, by trying what they must
//! refuse, as dry runs. A policy may be missing, or name another account after an overlay renamed
//! ours: nothing else would ever tell.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, header};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use sked_api::label;

use crate::error_chain::chain;
use crate::manager::leadership::Leadership;
use crate::manager::metrics::Metrics;
use crate::manager::queue::Queue;
use crate::manager::stores::{Stored, Stores};
use crate::manager::verification::Verifying;
use crate::manager::write_error::WriteError;
use crate::stop::Stop;

const INTERVAL: Duration = Duration::from_secs(600);
/// After a check that could not be completed, and after the first one.
const RETRY: Duration = Duration::from_secs(15);
/// The name of what is tried and never stored.
const NAME: &str = "sked-policy-check";
/// An image that the policy about images accepts, so that another policy must be the one that refuses.
const BY_DIGEST: &str =
    "sked-policy-check@sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The policies that do not restrict this manager, as far as known.
#[derive(Debug, Default)]
pub(crate) struct Unenforced(Mutex<Vec<&'static str>>);

impl Unenforced {
    pub(crate) fn get(&self) -> Vec<&'static str> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.clone()
    }

    /// Returns whether it changed.
    fn set(&self, names: Vec<&'static str>) -> bool {
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *before != names;
        *before = names;
        changed
    }
}

pub(crate) struct PolicyCheck {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) unenforced: Arc<Unenforced>,
    /// With a trust policy, images must be named by digest.
    pub(crate) verifying: Verifying,
    /// Where it may create DaemonSets, if not everywhere.
    pub(crate) namespace: Option<String>,
}

/// Something that a policy must refuse.
struct Attempt {
    policy: &'static str,
    request: Request<Vec<u8>>,
}

/// Whether a check was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checked {
    Completely,
    Partly,
    /// People who run a manager with an account of their own are not restricted.
    NotRestricted,
}

impl PolicyCheck {
    /// Checks again and again until a stop is requested, after [`PolicyCheck::first`].
    pub(crate) async fn run(&self, mut stop: Stop) {
        let mut delay = RETRY;
        loop {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = stop.requested() => return,
            }
            delay = match self.check().await {
                Checked::Completely => INTERVAL,
                Checked::Partly => RETRY,
                Checked::NotRestricted => return,
            };
        }
    }

    /// Checks before anything is reported: a status without what the last leader found would be
    /// written and corrected a moment later.
    pub(crate) async fn first(&self) {
        self.check().await;
    }

    async fn check(&self) -> Checked {
        let namespace = match self.service_account().await {
            Ok(Some(namespace)) => namespace,
            Ok(None) => return Checked::NotRestricted,
            Err(error) => {
                tracing::debug!("cannot check the policies: {}", chain(&error));
                return Checked::Partly;
            }
        };
        let before = self.unenforced.get();
        let mut unenforced = Vec::new();
        let mut checked = Checked::Completely;
        for Attempt { policy, request } in self.attempts(&namespace) {
            let enforced = self.is_enforced(policy, request).await;
            if let Some(enforced) = enforced {
                self.metrics.policy(policy, enforced);
            } else {
                checked = Checked::Partly;
            }
            if !enforced.unwrap_or_else(|| !before.contains(&policy)) {
                unenforced.push(policy);
            }
        }
        self.publish(&unenforced);
        checked
    }

    /// `None` if the response does not tell: others may refuse the request as well.
    async fn is_enforced(&self, policy: &str, request: Request<Vec<u8>>) -> Option<bool> {
        let tried = self.leadership.write(self.client.request::<Value>(request));
        match tried.await {
            Ok(_) => Some(false),
            Err(error) if error.status() == Some(403) && error.message().contains(policy) => {
                Some(true)
            }
            Err(error) => {
                tracing::debug!(policy, "cannot check the policy: {}", chain(&error));
                None
            }
        }
    }

    fn publish(&self, unenforced: &[&'static str]) {
        if !self.unenforced.set(unenforced.to_owned()) {
            return;
        }
        if !unenforced.is_empty() {
            tracing::warn!(
                policies = ?unenforced,
                "these admission policies do not restrict this manager's account: apply config/policy \
                 (sked-images: config/verified), or the chart, and keep the names of the accounts"
            );
        }
        for seen in self.stores.schedexts.all() {
            self.queue.now(&seen.key());
        }
    }

    /// The namespace of the account that this manager uses, if it is a service account.
    async fn service_account(&self) -> Result<Option<String>, WriteError> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let (params, review) = (PostParams::default(), SelfSubjectReview::default());
        let review = self.leadership.write(reviews.create(&params, &review));
        let user = review.await?.status.and_then(|status| status.user_info);
        let name = user.and_then(|user| user.username).unwrap_or_default();
        let account = name.strip_prefix("system:serviceaccount:");
        let namespace = account.and_then(|account| account.split_once(':'));
        Ok(namespace.map(|(namespace, _)| namespace.to_owned()))
    }

    /// One for each policy, as far as there is an object to try it with.
    fn attempts(&self, own_namespace: &str) -> Vec<Attempt> {
        let namespace = self.namespace.as_deref().unwrap_or(own_namespace);
        let daemonsets = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets");
        let unowned = attempt(
            "sked-manager-daemonsets",
            Method::POST,
            &daemonsets,
            &daemonset(BY_DIGEST, &json!([])),
        );
        let owner = json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": NAME,
            "uid": NAME, "controller": true});
        let image = match &self.verifying {
            Verifying::By(_) => attempt(
                "sked-images",
                Method::POST,
                &daemonsets,
                &daemonset(NAME, &json!([owner])),
            ),
            Verifying::Off | Verifying::AsRecorded => None,
        };
        let node = self.stores.nodes.all().into_iter().next().and_then(|node| {
            let annotation = json!({"metadata": {"annotations": {NAME: "true"}}});
            let path = format!("/api/v1/nodes/{}", node.name);
            attempt("sked-manager-nodes", Method::PATCH, &path, &annotation)
        });
        let pod = self
            .stores
            .agents
            .all()
            .into_iter()
            .next()
            .and_then(|agent| {
                let key = agent.key();
                let path = format!(
                    "/api/v1/namespaces/{}/pods/{}/status",
                    key.namespace, key.name
                );
                let condition = json!({"type": label::ATTACHED_GATE, "status": "False"});
                let status = json!({"status": {"conditions": [condition]}});
                attempt("sked-manager-pods", Method::PATCH, &path, &status)
            });
        let all = [unowned, image, node, pod];
        all.into_iter().flatten().collect()
    }
}

fn daemonset(image: &str, owners: &Value) -> Value {
    let labels = json!({"name": NAME});
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "ownerReferences": owners},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": NAME, "image": image}]},
            },
        },
    })
}

fn attempt(policy: &'static str, method: Method, path: &str, body: &Value) -> Option<Attempt> {
    let content = match method {
        Method::PATCH => "application/strategic-merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(format!("{path}?dryRun=All"))
        .header(header::CONTENT_TYPE, content)
        .body(body.to_string().into_bytes());
    request.ok().map(|request| Attempt { policy, request })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Bytes;
    use axum::http::{StatusCode, Uri, header};
    use axum::response::{IntoResponse, Response};

    use super::*;
    use crate::manager::registries::Registries;
    use crate::manager::verification::{Settings, Verifier};

    /// An API server with these policies about DaemonSets; the first that refuses is named.
    fn answer(policies: &[&str], uri: &Uri, body: &Value) -> Response {
        if uri.path().ends_with("selfsubjectreviews") {
            let user = json!({"username": "system:serviceaccount:sked-system:sked"});
            return json(StatusCode::CREATED, &json!({"status": {"userInfo": user}}));
        }
        assert_eq!(uri.query(), Some("dryRun=All"));
        let image = body["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
        let refuses = |policy: &&&str| match **policy {
            "sked-images" => !image.unwrap().contains("@sha256:"),
            _ => body["metadata"]["ownerReferences"] == json!([]),
        };
        let Some(policy) = policies.iter().find(refuses) else {
            return json(StatusCode::CREATED, body);
        };
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
            "reason": "Forbidden", "message": format!("ValidatingAdmissionPolicy '{policy}' denied")});
        json(StatusCode::FORBIDDEN, &status)
    }

    fn json(code: StatusCode, body: &Value) -> Response {
        let headers = [(header::CONTENT_TYPE, "application/json")];
        (code, headers, body.to_string()).into_response()
    }

    /// What a check finds, and whether it was complete.
    async fn check(
        policies: &'static [&'static str],
        verifies: bool,
    ) -> (Vec<&'static str>, Checked) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(move |uri: Uri, body: Bytes| async move {
            answer(policies, &uri, &serde_json::from_slice(&body).unwrap())
        });
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        let metrics = Arc::new(Metrics::new());
        let queue = Arc::new(Queue::closed(metrics.queue()));
        let stores: Arc<Stores> = Arc::default();
        let settings = Settings {
            policy: "policy.yaml".into(),
            auth: None,
            pull_secrets: None,
            registries: Registries::default(),
            resolve_interval: None,
            enforces: false,
        };
        let verifier = Verifier::new(
            settings,
            Arc::clone(&stores),
            Arc::clone(&queue),
            Arc::clone(&metrics),
        );
        let check = PolicyCheck {
            client: Client::try_from(config).unwrap(),
            leadership: Leadership::unlimited(),
            stores,
            queue,
            metrics,
            unenforced: Arc::default(),
            verifying: match verifies {
                true => Verifying::By(Arc::new(verifier)),
                false => Verifying::Off,
            },
            namespace: None,
        };
        let checked = check.check().await;
        server.abort();
        (check.unenforced.get(), checked)
    }

    #[tokio::test]
    async fn the_policy_about_images_is_missed_with_a_trust_policy_only() {
        let both = &["sked-images", "sked-manager-daemonsets"];
        assert_eq!(check(both, true).await, (vec![], Checked::Completely));
        assert_eq!(check(both, false).await, (vec![], Checked::Completely));
        let one = &["sked-manager-daemonsets"];
        let missing = (vec!["sked-images"], Checked::Completely);
        assert_eq!(check(one, true).await, missing);
        assert_eq!(check(one, false).await, (vec![], Checked::Completely));
    }
}
