//! The API server of a lab, as these tests ask it.

use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ValidationRule,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, Error};
use lab::{Lab, LabSpec, Topology};
use serde_json::Value;
use sked_api::crd;
use tokio::runtime::Runtime;

/// Where SchedExts live.
const PLACE: &str = "/apis/sked.schedkit.io/v1/namespaces/default/schedexts";
/// Where definitions live.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long a new schema may take to come into force.
const PATIENCE: Duration = Duration::from_secs(60);

/// The one of this file; it ends with the process.
static SERVER: LazyLock<Mutex<Server>> = LazyLock::new(|| Mutex::new(Server::up()));

/// A running API server that knows SchedExts.
pub(crate) struct Server {
    pub(crate) lab: Lab,
    runtime: Runtime,
    client: Client,
    definitions: u32,
}

/// Why something was not taken.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) message: String,
    /// Field and sentence.
    pub(crate) causes: Vec<(String, String)>,
}

/// The server, with every rule in force.
pub(crate) fn server() -> MutexGuard<'static, Server> {
    let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    server.define(crd::schedext().unwrap());
    server
}

impl Server {
    fn up() -> Self {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
        let order = LabSpec::new("test-admission", Topology::ControlPlane, &labs);
        let lab = Lab::up(&order, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let client = runtime.block_on(async {
            let file = Kubeconfig::read_from(lab.running().kubeconfig.as_ref().unwrap()).unwrap();
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(file, &options).await;
            Client::try_from(config.unwrap()).unwrap()
        });
        Self {
            lab,
            runtime,
            client,
            definitions: 0,
        }
    }

    /// Replaces the definition and waits until the new one is what requests are held against: it
    /// carries one more rule, which refuses a name of its own.
    pub(crate) fn define(&mut self, mut definition: CustomResourceDefinition) {
        self.definitions += 1;
        let probe = format!("probe-{}", self.definitions);
        let version = definition.spec.versions.first_mut().unwrap();
        let schema = version.schema.as_mut().unwrap();
        let schema = schema.open_api_v3_schema.as_mut().unwrap();
        let rules = schema.x_kubernetes_validations.get_or_insert_default();
        rules.push(ValidationRule {
            rule: format!("self.metadata.name != '{probe}'"),
            message: Some(probe.clone()),
            ..ValidationRule::default()
        });
        let name = definition.metadata.name.clone().unwrap();
        let uri = format!("{DEFINITIONS}/{name}?fieldManager=admission&force=true");
        let body = serde_json::to_vec(&definition).unwrap();
        self.send("PATCH", &uri, "application/apply-patch+yaml", body)
            .unwrap_or_else(|refusal| panic!("the definition: {refusal:?}"));
        let mut object = crate::schedext::plain();
        object["metadata"]["name"] = probe.clone().into();
        let begin = Instant::now();
        loop {
            match self.offer(&object) {
                Err(refusal) if refusal.message.contains(&format!(": {probe}")) => return,
                other => assert!(begin.elapsed() < PATIENCE, "not in force: {other:?}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether the server would take it, and as what. Nothing is kept.
    pub(crate) fn offer(&self, object: &Value) -> Result<Value, Refusal> {
        self.offer_raw(serde_json::to_vec(object).unwrap())
    }

    /// The same with any bytes.
    pub(crate) fn offer_raw(&self, body: Vec<u8>) -> Result<Value, Refusal> {
        let uri = format!("{PLACE}?dryRun=All&fieldValidation=Strict");
        self.send("POST", &uri, "application/json", body)
    }

    /// Makes it.
    pub(crate) fn create(&self, object: &Value) -> Result<Value, Refusal> {
        let body = serde_json::to_vec(object).unwrap();
        self.send("POST", PLACE, "application/json", body)
    }

    /// Merges `change` into what is there; `part` is empty or `/status`.
    pub(crate) fn change(&self, name: &str, part: &str, change: &Value) -> Result<Value, Refusal> {
        let uri = format!("{PLACE}/{name}{part}");
        let body = serde_json::to_vec(change).unwrap();
        self.send("PATCH", &uri, "application/merge-patch+json", body)
    }

    /// Whether it is well by its own word.
    pub(crate) fn is_ready(&self) -> bool {
        let request = Request::get("/readyz").body(Vec::new()).unwrap();
        let answer = self.runtime.block_on(self.client.request_text(request));
        answer.is_ok_and(|text| text == "ok")
    }

    fn send(&self, verb: &str, uri: &str, kind: &str, body: Vec<u8>) -> Result<Value, Refusal> {
        let request = Request::builder().method(verb).uri(uri);
        let request = request.header("content-type", kind).body(body).unwrap();
        match self.runtime.block_on(self.client.request(request)) {
            Ok(answer) => Ok(answer),
            Err(Error::Api(status)) => {
                let causes = status
                    .details
                    .into_iter()
                    .flat_map(|details| details.causes);
                Err(Refusal {
                    code: status.code,
                    message: status.message,
                    causes: causes.map(|cause| (cause.field, cause.message)).collect(),
                })
            }
            Err(error) => panic!("{verb} {uri}: {error}"),
        }
    }
}
