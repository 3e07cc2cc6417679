//! The verifier against a registry on the loopback, with images that a key signs.

mod credentials;
mod facts;
mod places;

use std::collections::BTreeMap;
use std::path::Path;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::manager::registries::NamedRegistries;
use crate::stop;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The media type, and the bytes.
type TypedBytes = (String, Vec<u8>);

/// Documents and blobs by their path, the paths that fail, and who may read.
#[derive(Clone, Default)]
struct Content(
    Arc<Mutex<BTreeMap<String, TypedBytes>>>,
    Arc<Mutex<Option<&'static str>>>,
    Arc<Mutex<Doorman>>,
);

/// Asks for a name and a password.
#[derive(Default)]
struct Doorman {
    /// The headers that it accepts; empty: everybody may read.
    accepted: Vec<String>,
    /// Those that it got.
    seen: BTreeSet<String>,
}

impl Doorman {
    fn refuses(&mut self, headers: &HeaderMap) -> Option<Response> {
        let sent = headers.get(header::AUTHORIZATION);
        let sent = sent.map(|sent| sent.to_str().unwrap().to_owned());
        self.seen.extend(sent.clone());
        let is_accepted = sent.as_ref().is_some_and(|one| self.accepted.contains(one));
        if self.accepted.is_empty() || is_accepted {
            return None;
        }
        // It repeats what it got, as no registry should.
        let text = sent.unwrap_or_default();
        let error = json!({"errors": [{"code": text, "message": text}]});
        let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=\"registry\"")];
        let answer = (StatusCode::UNAUTHORIZED, challenge, error.to_string());
        Some(answer.into_response())
    }
}

struct World {
    host: String,
    content: Content,
    key: KeyPair,
    folder: TempDir,
    _server: tokio::task::JoinHandle<()>,
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl Content {
    fn put(&self, path: String, kind: &str, bytes: &[u8]) {
        let mut all = self.0.lock().unwrap();
        all.insert(path, (kind.to_owned(), bytes.to_vec()));
    }

    /// Every request whose path has this in it.
    fn fail(&self, part: &'static str) {
        *self.1.lock().unwrap() = Some(part);
    }

    fn answer(&self, uri: &Uri, headers: &HeaderMap) -> Response {
        if let Some(refused) = self.2.lock().unwrap().refuses(headers) {
            return refused;
        }
        let fails = *self.1.lock().unwrap();
        if fails.is_some_and(|part| uri.path().contains(part)) {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        let found = self.0.lock().unwrap().get(uri.path()).cloned();
        let Some((kind, bytes)) = found else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let headers = [
            (header::CONTENT_TYPE, kind),
            ("docker-content-digest".parse().unwrap(), digest(&bytes)),
        ];
        (headers, Bytes::from(bytes)).into_response()
    }
}

impl World {
    async fn new() -> Self {
        let content = Content::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let served = content.clone();
        let app = Router::new().fallback(move |uri: Uri, headers: HeaderMap| async move {
            served.answer(&uri, &headers)
        });
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let folder = tempfile::tempdir().unwrap();
        let world = Self {
            host,
            content,
            key: KeyPair::generate().unwrap(),
            folder,
            _server: server,
        };
        world.trust(&world.key);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn trust(&self, key: &KeyPair) {
        std::fs::write(self.path("key.pub"), key.public_key_pem()).unwrap();
        std::fs::write(self.path("policy.yaml"), "keys:\n- path: key.pub\n").unwrap();
    }

    /// An image that differs from others by its text.
    fn push(&self, tag: &str, text: &str) -> String {
        let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": digest(text.as_bytes()), "size": text.len()});
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []});
        let bytes = manifest.to_string().into_bytes();
        let digest = digest(&bytes);
        for version in [tag, &digest] {
            self.content
                .put(format!("/v2/x/manifests/{version}"), MANIFEST, &bytes);
        }
        format!("{}/x@{digest}", self.host)
    }

    fn sign(&self, pinned: &str, key: &KeyPair) {
        let (_, image) = pinned.split_once('@').unwrap();
        let payload = json!({"critical": {"identity": {"docker-reference": "x"},
            "image": {"docker-manifest-digest": image},
            "type": "cosign container image signature"}, "optional": null});
        let payload = payload.to_string().into_bytes();
        let signature = STANDARD.encode(key.sign(&payload).unwrap());
        let layer = json!({"mediaType": SIMPLE, "digest": digest(&payload), "size": payload.len(),
            "annotations": {"dev.cosignproject.cosign/signature": signature}});
        let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": digest(b"{}"), "size": 2});
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let tag = format!("{}.sig", image.replace(':', "-"));
        let bytes = manifest.to_string().into_bytes();
        self.content
            .put(format!("/v2/x/manifests/{tag}"), MANIFEST, &bytes);
        let path = format!("/v2/x/blobs/{}", digest(&payload));
        self.content.put(path, "application/octet-stream", &payload);
    }

    /// A manager's verifier that may ask this registry.
    fn verifier(&self) -> (Arc<Verifier>, stop::Stopper) {
        self.verifier_by(&format!("\"{}\": {{security: plain-http}}\n", self.host))
    }

    /// With these settings of registries.
    fn verifier_by(&self, settings: &str) -> (Arc<Verifier>, stop::Stopper) {
        let path = self.path("registries.yaml");
        std::fs::write(&path, settings).unwrap();
        self.verifier_with(&[NamedRegistries::File(path)])
    }

    fn verifier_with(&self, named: &[NamedRegistries]) -> (Arc<Verifier>, stop::Stopper) {
        self.verifier_set(self.settings(named))
    }

    fn settings(&self, named: &[NamedRegistries]) -> Settings {
        Settings {
            policy: self.path("policy.yaml"),
            auth: None,
            pull_secrets: None,
            registries: Registries::new(named).unwrap(),
            resolve_interval: None,
            enforces: false,
        }
    }

    fn verifier_set(&self, settings: Settings) -> (Arc<Verifier>, stop::Stopper) {
        let metrics = Arc::new(Metrics::new());
        let queue = Arc::new(Queue::closed(metrics.queue()));
        let verifier = Verifier::new(settings, Arc::default(), queue, metrics);
        let verifier = Arc::new(verifier);
        let (stopper, stop) = stop::pair();
        verifier.start(stop).unwrap();
        (verifier, stopper)
    }

    fn asks(&self, tag: &str) -> Arc<SchedExt> {
        schedext(&format!("{}/x:{tag}", self.host))
    }
}

fn schedext(sched: &str) -> Arc<SchedExt> {
    let object: Value = json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
        "metadata": {"name": sched.replace(['/', ':', '@'], "-"), "namespace": "b", "uid": "u"},
        "spec": {"sched": sched}});
    Arc::new(serde_json::from_value(object).unwrap())
}

async fn verdict(verifier: &Verifier, asked: &Arc<SchedExt>) -> Verdict {
    verifier.want(asked);
    for _ in 0..300 {
        let known = verifier.known(asked);
        if let Some(verdict) = known.verdicts.get(&asked.spec.sched) {
            return verdict.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no verdict about {}", asked.spec.sched);
}

#[tokio::test]
async fn a_signed_image_is_accepted_by_its_digest_and_others_are_refused() {
    let world = World::new().await;
    let signed = world.push("1", "one");
    world.sign(&signed, &world.key);
    world.push("2", "two");
    let strange = world.push("3", "three");
    world.sign(&strange, &KeyPair::generate().unwrap());
    let (verifier, _stopper) = world.verifier();
    let accepted = verdict(&verifier, &world.asks("1")).await;
    let Verdict::Accepted {
        resolved,
        signer,
        policy,
        ..
    } = accepted
    else {
        panic!("{accepted:?}");
    };
    assert_eq!(resolved, signed);
    assert!(signer.starts_with("key sha256:"), "{signer}");
    assert!(policy.starts_with("sha256:"), "{policy}");
    let unsigned = verdict(&verifier, &world.asks("2")).await;
    assert!(
        matches!(&unsigned, Verdict::Unsigned(text) if text.contains("is not signed")),
        "{unsigned:?}"
    );
    let refused = verdict(&verifier, &world.asks("3")).await;
    assert!(
        matches!(&refused, Verdict::Refused(text) if text.contains("no signature of")),
        "{refused:?}"
    );
    // A tag that does not exist is no verdict.
    let missing = verdict(&verifier, &world.asks("4")).await;
    assert!(matches!(&missing, Verdict::Trouble(_)), "{missing:?}");
    // By its digest it is known already.
    let pinned = schedext(&signed);
    assert!(matches!(
        verdict(&verifier, &pinned).await,
        Verdict::Accepted { .. }
    ));
}

#[tokio::test]
async fn a_registry_that_no_administrator_named_is_not_asked() {
    let world = World::new().await;
    let signed = world.push("1", "one");
    world.sign(&signed, &world.key);
    let (verifier, _stopper) = world.verifier_with(&[]);
    let private = verdict(&verifier, &world.asks("1")).await;
    assert!(
        matches!(&private, Verdict::Trouble(why) if why.contains("no public address")),
        "{private:?}"
    );
    // Another port of the same host was named.
    let (verifier, _stopper) = world.verifier_by("\"127.0.0.1:1\": {security: plain-http}\n");
    let other_port = verdict(&verifier, &world.asks("1")).await;
    assert!(
        matches!(&other_port, Verdict::Trouble(why) if why.contains("no public address")),
        "{other_port:?}"
    );
    let other = NamedRegistries::Host("registry.example".to_owned());
    let (verifier, _stopper) = world.verifier_with(&[other]);
    let other = verdict(&verifier, &world.asks("1")).await;
    assert!(
        matches!(&other, Verdict::Trouble(why) if why.contains("--registries")),
        "{other:?}"
    );
}

#[tokio::test]
async fn without_a_policy_nothing_is_known_and_the_reason_is() {
    let world = World::new().await;
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    remove(&world.path("policy.yaml"));
    let (verifier, _stopper) = world.verifier();
    let asked = world.asks("1");
    verifier.want(&asked);
    let told = async {
        loop {
            let known = verifier.known(&asked);
            assert!(known.verdicts.is_empty());
            let why = known.policy.trouble().unwrap_or_default().to_owned();
            if why.contains("policy.yaml") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), told).await.unwrap();
}

#[tokio::test]
async fn who_names_a_digest_hears_of_what_was_found_by_its_tag() {
    let world = World::new().await;
    let pinned = world.push("1", "one");
    std::fs::remove_file(world.path("policy.yaml")).unwrap();
    let (verifier, _stopper) = world.verifier();
    let (by_tag, by_digest) = (world.asks("1"), schedext(&pinned));
    verifier.want(&by_tag);
    verifier.want(&by_digest);
    let verdict = Verdict::Accepted {
        resolved: pinned,
        signer: "somebody".to_owned(),
        policy: "p".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    };
    let now = Instant::now();
    let look = Look {
        policy: "p",
        began: now,
        ended: now,
    };
    let users = verifier.store(&Question::new(&by_tag.spec.sched, None), verdict, &look, 0);
    assert_eq!(users, [part::key(&by_tag), part::key(&by_digest)].into());
}
