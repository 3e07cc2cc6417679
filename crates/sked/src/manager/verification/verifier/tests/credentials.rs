//! Whose login is sent, with what the manager has (`--registry-auth`) and with what SchedExts name
//! (`--pull-secrets`), and that nothing of it is told.

use std::io::Write;

use tracing_subscriber::fmt::MakeWriter;

use super::*;

const CONFIG: &str = "kubernetes.io/dockerconfigjson";
const OLD_CONFIG: &str = "kubernetes.io/dockercfg";

/// An API server that has Secrets, and the paths that it was asked for.
#[derive(Clone, Default)]
struct Api(
    Arc<Mutex<BTreeMap<String, String>>>,
    Arc<Mutex<Vec<String>>>,
);

impl Api {
    fn put(&self, namespace: &str, name: &str, kind: &str, content: &[u8]) {
        let key = match kind {
            OLD_CONFIG => ".dockercfg",
            _ => ".dockerconfigjson",
        };
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"namespace": namespace, "name": name},
            "data": {key: STANDARD.encode(content)}});
        self.put_text(namespace, name, secret.to_string());
    }

    fn put_text(&self, namespace: &str, name: &str, text: String) {
        let path = format!("/api/v1/namespaces/{namespace}/secrets/{name}");
        self.0.lock().unwrap().insert(path, text);
    }

    async fn client(&self) -> Client {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = self.clone();
        let app = Router::new().fallback(move |uri: Uri| async move { served.answer(&uri) });
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        Client::try_from(config).unwrap()
    }

    fn answer(&self, uri: &Uri) -> Response {
        let path = uri.path();
        self.1.lock().unwrap().push(path.to_owned());
        let failed = |code: StatusCode, reason: &str| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "code": code.as_u16(), "reason": reason, "message": "no"});
            (code, status.to_string()).into_response()
        };
        match self.0.lock().unwrap().get(path) {
            Some(text) => text.clone().into_response(),
            None if path.contains("/forbidden/") => failed(StatusCode::FORBIDDEN, "Forbidden"),
            None => failed(StatusCode::NOT_FOUND, "NotFound"),
        }
    }
}

/// A login of this host.
fn config(host: &str, user: &str, password: &str) -> Vec<u8> {
    let auth = STANDARD.encode(format!("{user}:{password}"));
    json!({"auths": {host: {"auth": auth}}}).to_string().into()
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

fn names_secrets(namespace: &str, image: &str, secrets: &[&str]) -> Arc<SchedExt> {
    let mut schedext = SchedExt::clone(&schedext(image));
    schedext.metadata.namespace = Some(namespace.to_owned());
    let secrets = secrets.iter().map(|name| json!({"name": name}));
    let secrets = serde_json::from_value(secrets.collect()).unwrap();
    schedext.spec.image_pull_secrets = secrets;
    Arc::new(schedext)
}

impl World {
    /// With one signed image, `x:1`, for who has one of these logins.
    async fn private(accepted: &[(&str, &str)]) -> (Self, String) {
        let world = Self::new().await;
        let image = world.push("1", "one");
        world.sign(&image, &world.key);
        let accepted = accepted
            .iter()
            .map(|(user, password)| basic(user, password));
        world.content.2.lock().unwrap().accepted = accepted.collect();
        (world, image)
    }

    fn own_settings(&self) -> Settings {
        let path = self.path("registries.yaml");
        std::fs::write(
            &path,
            format!("\"{}\": {{security: plain-http}}\n", self.host),
        )
        .unwrap();
        self.settings(&[NamedRegistries::File(path)])
    }

    fn took(&self) -> Vec<String> {
        let seen = std::mem::take(&mut self.content.2.lock().unwrap().seen);
        seen.into_iter().collect()
    }
}

fn trouble(verdict: Verdict) -> String {
    match verdict {
        Verdict::Trouble(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_managers_login_answers_a_challenge() {
    let (world, _) = World::private(&[("sked", "hunter2")]).await;
    for (user, is_accepted) in [("sked", true), ("other", false)] {
        let file = world.path(user);
        std::fs::write(&file, config(&world.host, user, "hunter2")).unwrap();
        let mut settings = world.own_settings();
        settings.auth = Some(file);
        let (verifier, _stopper) = world.verifier_set(settings);
        // Without --pull-secrets no secret is read.
        let asked = names_secrets("a", &world.asks("1").spec.sched, &["pull"]);
        let verdict = verdict(&verifier, &asked).await;
        assert_eq!(world.took(), [basic(user, "hunter2")]);
        match verdict {
            Verdict::Accepted { .. } => assert!(is_accepted),
            other => {
                let why = trouble(other);
                assert!(!is_accepted && why.contains("credentials in"), "{why}");
                assert!(!why.contains("hunter2"), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn a_namespace_is_served_by_its_own_secrets_only() {
    let (world, pinned) = World::private(&[("ann", "one"), ("bob", "two")]).await;
    let api = Api::default();
    api.put("a", "pull", CONFIG, &config(&world.host, "ann", "one"));
    let old = json!({&*world.host: {"username": "bob", "password": "two"}});
    api.put("b", "pull", OLD_CONFIG, old.to_string().as_bytes());
    let mut settings = world.own_settings();
    settings.pull_secrets = Some(api.client().await);
    let (verifier, _stopper) = world.verifier_set(settings);
    let image = world.asks("1").spec.sched.clone();
    for (namespace, user, password) in [("a", "ann", "one"), ("b", "bob", "two")] {
        let asked = names_secrets(namespace, &image, &["pull"]);
        let accepted = verdict(&verifier, &asked).await;
        assert!(matches!(accepted, Verdict::Accepted { .. }), "{accepted:?}");
        assert_eq!(world.took(), [basic(user, password)], "{namespace}");
    }
    let tries = [
        ("c", &["pull"][..], "the secret c/pull, which"),
        ("c", &[], "credentials"),
        ("forbidden", &["pull"], "config/verified/pull-secrets"),
        // The secret of another namespace.
        ("c", &["../../b/secrets/pull"], "no name of a secret"),
        ("c", &[".."], "no name of a secret"),
    ];
    for (namespace, secrets, expected) in tries {
        for image in [&image, &pinned] {
            let asked = names_secrets(namespace, image, secrets);
            let why = trouble(verdict(&verifier, &asked).await);
            assert!(why.contains(expected), "{why}");
            assert_eq!(world.took(), [""; 0], "{namespace} {secrets:?}");
        }
    }
    let paths = api.1.lock().unwrap().clone();
    let paths: BTreeSet<_> = paths.iter().map(|path| &**path).collect();
    let expected = ["a", "b", "c", "forbidden"]
        .map(|namespace| format!("/api/v1/namespaces/{namespace}/secrets/pull"));
    assert_eq!(paths, expected.iter().map(|path| &**path).collect());
}

#[tokio::test]
async fn another_list_of_secrets_is_looked_at_at_once_and_their_order_counts() {
    let (world, _) = World::private(&[("ann", "one")]).await;
    let api = Api::default();
    api.put("a", "old", CONFIG, &config(&world.host, "ann", "gone"));
    api.put("a", "new", CONFIG, &config(&world.host, "ann", "one"));
    api.put("a", "other", CONFIG, &config("r.example", "x", "y"));
    let own = world.path("own");
    std::fs::write(&own, config(&world.host, "ann", "one")).unwrap();
    let mut settings = world.own_settings();
    settings.pull_secrets = Some(api.client().await);
    settings.auth = Some(own);
    let (verifier, _stopper) = world.verifier_set(settings);
    let image = world.asks("1").spec.sched.clone();
    for (secrets, is_accepted) in [
        (&["old", "new"][..], false),
        (&["other", "new", "old"], true),
        // Nothing for this host: the manager's own login.
        (&["other"], true),
    ] {
        let asked = names_secrets("a", &image, secrets);
        let verdict = verdict(&verifier, &asked).await;
        let found = matches!(verdict, Verdict::Accepted { .. });
        assert_eq!(found, is_accepted, "{secrets:?}: {verdict:?}");
    }
}

/// What is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Secrets by name, type and content, and what is said of them.
fn hostile(host: &str) -> [(&'static str, &'static str, Vec<u8>, &'static str); 9] {
    let entry = |value: Value| -> Vec<u8> { json!({"auths": {host: value}}).to_string().into() };
    let line = entry(json!({"username": "me", "password": "HUNTER\r\nx: y"}));
    let bad = "{\"auths\": {\"HUNTER\u{1b}[2J\u{0}\": {\"auth\": \"HUNTER\"";
    let big = format!("{{\"HUNTER\": \"{}\"}}", "H".repeat(1 << 20));
    let login = |password| config(host, "me", password);
    let undecodable = entry(json!({"auth": "HUNTER"}));
    let array = b"{\"x\": \"HUNTER\"}".to_vec();
    [
        ("good", CONFIG, login("HUNTER"), ""),
        ("wrong", CONFIG, login("HUNTERS"), "in the secret a/wrong"),
        ("line", CONFIG, line, "in the secret a/line"),
        ("bad", CONFIG, bad.into(), "no JSON with logins, see line 1"),
        (
            "bytes",
            CONFIG,
            b"HUNTER\xff\xfe".to_vec(),
            "cannot be read",
        ),
        ("entry", CONFIG, undecodable, "whose auth is not base64"),
        ("big", CONFIG, big.into(), "more than 1048576 bytes"),
        ("old", OLD_CONFIG, array, "no JSON with logins"),
        ("opaque", "HUNTER", b"HUNTER".to_vec(), "its type must be"),
    ]
}

#[tokio::test]
async fn nothing_of_a_secret_is_told_whatever_it_holds() {
    let (world, _) = World::private(&[("me", "HUNTER")]).await;
    let api = Api::default();
    let cases = hostile(&world.host);
    for (name, kind, content, _) in &cases {
        api.put("a", name, kind, content);
    }
    api.put_text("a", "object", "{\"data\": [\"HUNTER\"]}".to_owned());
    let names = cases.iter().map(|(name, .., expected)| (*name, *expected));
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_max_level(tracing::Level::DEBUG)
        .finish();
    // With one subscriber alone, the threads of other tests, which have none, turn events off.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    // For this thread, on which everything runs here.
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut settings = world.own_settings();
    settings.pull_secrets = Some(api.client().await);
    let metrics = Arc::new(Metrics::new());
    let queue = Arc::new(Queue::closed(metrics.queue()));
    let verifier = Verifier::new(settings, Arc::default(), queue, metrics);
    let policy = Policy::read(
        &world.path("policy.yaml"),
        schedkit_image::untrusted::Reader::User,
    );
    let policy = policy.unwrap();
    let image = world.asks("1").spec.sched.clone();
    for (name, expected) in names.chain([("object", "cannot be read")]) {
        let asked = names_secrets("a", &image, &[name]);
        let question = verifier.wish(&asked).questions.into_iter().next().unwrap();
        let verdict = verifier.verdict(&policy, &question, 0).await;
        let now = Instant::now();
        let look = Look {
            policy: "p",
            began: now,
            ended: now,
        };
        let text = format!("{verdict:?}");
        verifier.record(&question, verdict.clone(), &look, 0);
        assert!(!text.contains("HUNTER"), "{name}: {text}");
        match verdict {
            Verdict::Accepted { .. } => assert_eq!(name, "good"),
            other => {
                let why = trouble(other);
                assert!(
                    !expected.is_empty() && why.contains(expected),
                    "{name}: {why}"
                );
                assert!(!why.contains(char::is_control), "{name}: {why:?}");
            }
        }
    }
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("a/opaque"), "{text}");
    let encoded = STANDARD.encode("me:HUNTER");
    let object = STANDARD.encode(config(&world.host, "me", "HUNTER"));
    for part in ["HUNTER", &encoded, &object] {
        assert!(!text.contains(part), "{part} in {text}");
    }
}
