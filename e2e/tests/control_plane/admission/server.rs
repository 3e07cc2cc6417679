//! The API server as these tests ask it: through kube's client, which shows every cause of a
//! rejection.

use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ValidationRule,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, Error};
use serde_json::Value;
use sked_api::crd;
use testkit::wait::TIMEOUT;
use testkit::{Shared, eventually_or};
use tokio::runtime::Runtime;

const SCHEDEXTS: &str = "/apis/sked.schedkit.io/v1/namespaces/default/schedexts";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A turn on the API server, with every rule in force. When it ends, objects that were created and
/// CRDs that were applied through it are as they were.
pub(crate) struct Server {
    pub(crate) cluster: Shared,
    runtime: Runtime,
    client: Client,
    /// How many CRDs were applied.
    applied: u32,
    /// Names of objects that were created.
    created: Vec<String>,
}

/// Why something was rejected.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) code: u16,
    pub(crate) message: String,
    /// Field and message each.
    pub(crate) causes: Vec<(String, String)>,
}

pub(crate) fn server() -> Server {
    let cluster = testkit::control_plane();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = runtime.block_on(async {
        let file = Kubeconfig::read_from(cluster.admin_kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        Client::try_from(config.unwrap()).unwrap()
    });
    Server {
        cluster,
        runtime,
        client,
        applied: 0,
        created: Vec::new(),
    }
}

impl Server {
    /// Replaces the CRD and waits until requests are validated by the new one: it has one more rule,
    /// which rejects a name of its own.
    pub(crate) fn define(&mut self, mut definition: CustomResourceDefinition) {
        self.applied += 1;
        let probe = format!("probe-{}", self.applied);
        let version = definition.spec.versions.first_mut().unwrap();
        let schema = version.schema.as_mut().unwrap();
        let schema = schema.open_api_v3_schema.as_mut().unwrap();
        let rules = schema.x_kubernetes_validations.get_or_insert_default();
        rules.push(ValidationRule {
            rule: format!("self.metadata.name != '{probe}'"),
            message: Some(probe.clone()),
            ..ValidationRule::default()
        });
        self.apply(&definition);
        let mut object = super::schedext::plain();
        object["metadata"]["name"] = probe.clone().into();
        eventually_or(
            "the CRD is in force",
            TIMEOUT,
            || {
                let rejection = self.offer(&object).err()?;
                let probed = rejection.message.contains(&format!(": {probe}"));
                probed.then_some(())
            },
            || format!("{:?}", self.offer(&object)),
        );
    }

    /// As kubectl does it: with the field manager of kubectl, every field of an earlier CRD goes.
    fn apply(&self, definition: &CustomResourceDefinition) {
        let name = definition.metadata.name.clone().unwrap();
        let uri = format!("{CRDS}/{name}?fieldManager=kubectl&force=true");
        let body = serde_json::to_vec(definition).unwrap();
        self.send("PATCH", &uri, "application/apply-patch+yaml", body)
            .unwrap_or_else(|rejection| panic!("the CRD: {rejection:?}"));
    }

    /// Whether the API server would accept it, and as what. Nothing is stored.
    pub(crate) fn offer(&self, object: &Value) -> Result<Value, Rejection> {
        self.offer_raw(serde_json::to_vec(object).unwrap())
    }

    /// The same with any bytes.
    pub(crate) fn offer_raw(&self, body: Vec<u8>) -> Result<Value, Rejection> {
        let uri = format!("{SCHEDEXTS}?dryRun=All&fieldValidation=Strict");
        self.send("POST", &uri, "application/json", body)
    }

    pub(crate) fn create(&mut self, object: &Value) -> Result<Value, Rejection> {
        let name = object["metadata"]["name"].as_str().unwrap();
        self.created.push(name.to_owned());
        let body = serde_json::to_vec(object).unwrap();
        self.send("POST", SCHEDEXTS, "application/json", body)
    }

    /// Merges `patch` into an object; `subresource` is empty or `/status`.
    pub(crate) fn patch(
        &self,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, Rejection> {
        let uri = format!("{SCHEDEXTS}/{name}{subresource}");
        let body = serde_json::to_vec(patch).unwrap();
        self.send("PATCH", &uri, "application/merge-patch+json", body)
    }

    pub(crate) fn is_ready(&self) -> bool {
        let request = Request::get("/readyz").body(Vec::new()).unwrap();
        let answer = self.runtime.block_on(self.client.request_text(request));
        answer.is_ok_and(|text| text == "ok")
    }

    fn send(&self, verb: &str, uri: &str, kind: &str, body: Vec<u8>) -> Result<Value, Rejection> {
        let request = Request::builder().method(verb).uri(uri);
        let request = request.header("content-type", kind).body(body).unwrap();
        match self.runtime.block_on(self.client.request(request)) {
            Ok(answer) => Ok(answer),
            Err(Error::Api(status)) => {
                let causes = status
                    .details
                    .into_iter()
                    .flat_map(|details| details.causes);
                Err(Rejection {
                    code: status.code,
                    message: status.message,
                    causes: causes.map(|cause| (cause.field, cause.message)).collect(),
                })
            }
            Err(error) => panic!("{verb} {uri}: {error}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for name in &self.created {
            let schedext = format!("schedext/{name}");
            let delete = ["delete", "-n", "default", "--ignore-not-found", &schedext];
            self.cluster.run(&delete);
        }
        if self.applied > 0 {
            let shipped = crd::schedext().unwrap();
            // The probe shows that all rules are in force again. A second panic would end all tests.
            if !std::thread::panicking() {
                self.define(shipped.clone());
            }
            self.apply(&shipped);
        }
    }
}
