//! Challenges and tokens: answered once, cached, and sent to no other host.

use schedkit_image::registry::{Client, ClientConfig, Credentials, Problem, Registry};

use crate::client::{client, client_config, message, tagged};
use crate::server::{Reply, Request, Server, no_server, ok, status, typed, with};

const CONTENT: &[u8] = b"{\"config\": 1}";
const BEARER: &str =
    r#"Bearer realm="http://HOST/token",service="reg",scope="repository:team/scx:pull""#;

fn challenge(text: &str) -> Reply {
    with(401, "WWW-Authenticate", text)
}

fn token(text: &str) -> Reply {
    typed("application/json", format!(r#"{{"token": "{text}"}}"#))
}

/// A registry that accepts only this authorization.
fn accepting(expected: &'static str) -> impl Fn(&Request) -> Reply + Send + Sync + Clone {
    move |request| match request.authorization() {
        Some(header) if header == expected => ok(CONTENT),
        _ => challenge(BEARER),
    }
}

fn lines(server: &Server) -> Vec<String> {
    let requests = server.requests();
    requests.into_iter().map(|request| request.line).collect()
}

/// A client that logs in as `me` with the password.
fn me(host: &str, folder: &tempfile::TempDir) -> Client {
    let path = folder.path().join("auth.json");
    let text = format!(r#"{{"auths": {{"{host}": {{"auth": "bWU6aHVudGVyMg=="}}}}}}"#);
    std::fs::write(&path, text).unwrap();
    Client::new(ClientConfig {
        credentials: Credentials::from_file(path),
        ..client_config(host)
    })
}

#[tokio::test]
async fn a_token_is_fetched_once_and_reused() {
    let registry = accepting("Bearer t0ken");
    let server = Server::start(move |request| match request.is("/token") {
        true => token("t0ken"),
        false => registry(request),
    })
    .await;
    let client = client(&server.host);
    for _ in 0..3 {
        client.document(&tagged(&server.host)).await.unwrap();
    }
    let manifest = "GET /v2/team/scx/manifests/1";
    let token = "GET /token?service=reg&scope=repository%3Ateam%2Fscx%3Apull";
    assert_eq!(
        lines(&server),
        [manifest, token, manifest, manifest, manifest]
    );
    assert_eq!(server.requests()[1].authorization(), None);
    assert!(!format!("{client:?}").contains("t0ken"));
}

#[tokio::test]
async fn an_expired_token_is_replaced() {
    let server = Server::start(|request| match (request.is("/token"), request.nth) {
        (true, nth) => token(&format!("t0ken{nth}")),
        // The first token is valid for one request, the second for the next.
        (false, nth) => match (request.authorization(), nth) {
            (Some("Bearer t0ken0"), 1) | (Some("Bearer t0ken1"), 3) => ok(CONTENT),
            _ => challenge(BEARER),
        },
    })
    .await;
    let client = client(&server.host);
    client.document(&tagged(&server.host)).await.unwrap();
    client.document(&tagged(&server.host)).await.unwrap();
    assert_eq!((server.count_of("/token"), server.count()), (2, 6));
}

#[tokio::test]
async fn failing_token_servers() {
    let no_use = |why: &str| {
        format!(
            "cannot get a token for HOST/team/scx from HOST: the response cannot be used: {why}"
        )
    };
    let refused = |what: &str| {
        format!(
            "cannot get {what} from HOST: access denied: the request was sent without credentials; check the name, or log in (`podman login`) if it is not public"
        )
    };
    let json = "not the expected JSON, at line 1, column";
    let none = "it holds no usable token";
    let token_for = "a token for HOST/team/scx";
    for (name, reply, expected, tokens, requests) in [
        (
            "never enough",
            token("t0ken"),
            refused("HOST/team/scx:1"),
            1,
            2,
        ),
        ("refuses", status(401), refused(token_for), 1, 1),
        ("refuses us", status(403), refused(token_for), 1, 1),
        ("challenges us", challenge(BEARER), refused(token_for), 1, 1),
        (
            "fails",
            status(500),
            format!("cannot get {token_for} from HOST: the response has HTTP status 500"),
            3,
            3,
        ),
        (
            "is not there",
            status(404),
            format!("cannot get {token_for} from HOST: the response has HTTP status 404"),
            1,
            1,
        ),
        ("empty", ok("{}"), no_use(none), 1, 1),
        ("empty token", token(""), no_use(none), 1, 1),
        ("line breaks", token(r"t0ken\r\nX: y"), no_use(none), 1, 1),
        ("text", ok("t0ken"), no_use(&format!("{json} 2")), 1, 1),
        (
            "number",
            ok(r#"{"token": 1}"#),
            no_use(&format!("{json} 11")),
            1,
            1,
        ),
        (
            "flood",
            Reply::Flood(None),
            format!("cannot get {token_for} from HOST: it has more than 65536 bytes"),
            1,
            1,
        ),
        (
            "redirects in a circle",
            with(302, "Location", "/token"),
            format!("cannot get {token_for} from HOST: more than 5 redirects"),
            6,
            1,
        ),
        (
            "redirects away",
            with(302, "Location", "http://other.invalid/"),
            format!("cannot get {token_for} from HOST: the response has HTTP status 302"),
            1,
            1,
        ),
    ] {
        let server = Server::start(move |request| match request.is("/token") {
            true => reply.clone(),
            false => challenge(BEARER),
        })
        .await;
        let error = client(&server.host).document(&tagged(&server.host)).await;
        let message = message(&error.unwrap_err(), &[(&server.host, "HOST")]);
        assert_eq!(message, expected, "{name}");
        let counts = (server.count_of("/token"), server.count_of("/v2/"));
        assert_eq!(counts, (tokens, requests), "{name}");
    }
}

#[tokio::test]
async fn the_error_names_a_token_server_that_is_down() {
    let down = no_server().await;
    let text = format!(r#"Bearer realm="http://{down}/token""#);
    let server = Server::start(move |_| challenge(&text)).await;
    let error = client(&server.host)
        .head(&tagged(&server.host))
        .await
        .unwrap_err();
    assert!(matches!(error.problem(), Problem::Unreachable(_)));
    assert_eq!(
        message(&error, &[(&server.host, "HOST"), (&down, "DOWN")]),
        "cannot get a token for HOST/team/scx from DOWN: cannot connect; is the host name right, and is the registry running?"
    );
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn challenges_that_cannot_be_answered() {
    let malformed = |why: &str| {
        format!(
            "cannot get HOST/team/scx:1 from HOST: the response cannot be used: its challenge (WWW-Authenticate) cannot be answered: {why}"
        )
    };
    let refused = "cannot get HOST/team/scx:1 from HOST: access denied: the request was sent without credentials; check the name, or log in (`podman login`) if it is not public";
    let long = format!("Bearer realm=\"{}\"", "x".repeat(9000));
    for (text, expected) in [
        ("", refused.to_owned()),
        ("Basic realm=\"x\"", refused.to_owned()),
        ("Negotiate", malformed("it offers neither Bearer nor Basic")),
        ("Bearer realm=\"t0ken", malformed("its syntax is wrong")),
        (
            "Bearer realm=t0ken",
            malformed("its realm is not the URL of a token server"),
        ),
        (
            &long,
            malformed("it has more than 8192 bytes or 32 parameters"),
        ),
    ] {
        let challenge = challenge(text);
        let server = Server::start(move |_| challenge.clone()).await;
        let error = client(&server.host).document(&tagged(&server.host)).await;
        assert_eq!(
            message(&error.unwrap_err(), &[(&server.host, "HOST")]),
            expected,
            "{text}"
        );
        assert_eq!(server.count(), 1, "{text}");
    }
}

#[tokio::test]
async fn a_password_is_sent_after_a_challenge() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|request| match request.authorization() {
        Some("Basic bWU6aHVudGVyMg==") => ok(CONTENT),
        _ => challenge("Basic realm=\"x\""),
    })
    .await;
    let client = me(&server.host, &folder);
    client.document(&tagged(&server.host)).await.unwrap();
    client.document(&tagged(&server.host)).await.unwrap();
    let sent = server.requests();
    let sent = sent.iter().map(|request| request.authorization().is_some());
    assert_eq!(sent.collect::<Vec<_>>(), [false, true, true]);
    assert!(!format!("{client:?}").contains("bWU6"));
}

#[tokio::test]
async fn a_password_is_exchanged_for_a_token_where_there_are_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let registry = accepting("Bearer t0ken");
    let server =
        Server::start(
            move |request| match (request.is("/token"), request.authorization()) {
                (true, Some("Basic bWU6aHVudGVyMg==")) => ok(r#"{"access_token": "t0ken"}"#),
                (true, _) => status(401),
                (false, _) => registry(request),
            },
        )
        .await;
    me(&server.host, &folder)
        .document(&tagged(&server.host))
        .await
        .unwrap();
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn an_identity_is_exchanged_for_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let registry = accepting("Bearer t0ken");
    let server = Server::start(move |request| match request.is("POST /token") {
        true => token("t0ken"),
        false => registry(request),
    })
    .await;
    let path = folder.path().join("auth.json");
    let text = format!(
        r#"{{"auths": {{"{}": {{"identitytoken": "1dentity&"}}}}}}"#,
        server.host
    );
    std::fs::write(&path, text).unwrap();
    let client = Client::new(ClientConfig {
        credentials: Credentials::from_file(path),
        ..client_config(&server.host)
    });
    client.document(&tagged(&server.host)).await.unwrap();
    assert_eq!(
        server.requests()[1].body,
        "grant_type=refresh_token&service=reg&client_id=schedkit&scope=repository%3Ateam%2Fscx%3Apull&refresh_token=1dentity%26"
    );
}

#[tokio::test]
async fn the_error_names_the_file_of_a_refused_login() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_| challenge("Basic")).await;
    let error = me(&server.host, &folder)
        .document(&tagged(&server.host))
        .await;
    let file = folder.path().join("auth.json").display().to_string();
    assert_eq!(
        message(
            &error.unwrap_err(),
            &[(&server.host, "HOST"), (&file, "FILE")]
        ),
        "cannot get HOST/team/scx:1 from HOST: access denied: the request was sent with the credentials in FILE; check the name and whether the login is still valid"
    );
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn no_credentials_follow_a_redirect_to_another_host() {
    let folder = tempfile::tempdir().unwrap();
    // The same machine under another port is another host.
    let store = Server::start(|request| match request.is("/challenge") {
        true => challenge("Basic"),
        false => ok(CONTENT),
    })
    .await;
    for (path, good) in [("/content", true), ("/challenge", false)] {
        let there = format!("http://you:hunter2@{}{path}", store.host);
        let server = Server::start(move |request| match request.authorization() {
            Some(_) => with(307, "Location", there.clone()),
            None => challenge("Basic"),
        })
        .await;
        let client = me(&server.host, &folder);
        let outcome = client.document(&tagged(&server.host)).await;
        assert_eq!(outcome.is_ok(), good);
        if let Err(error) = outcome {
            // The challenge of a host that was redirected to is not answered.
            let message = message(&error, &[(&store.host, "STORE"), (&server.host, "HOST")]);
            let expected = "cannot get HOST/team/scx:1 from STORE: access denied: the request was sent without credentials";
            assert!(message.starts_with(expected), "{message}");
        }
        assert_eq!(server.count(), 2);
    }
    let strangers = store.requests();
    assert_eq!(strangers.len(), 2);
    assert!(
        strangers
            .iter()
            .all(|request| request.authorization().is_none())
    );
}

#[tokio::test]
async fn a_host_that_was_redirected_to_cannot_get_the_registrys_login() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["Basic", r#"Bearer realm="http://HOST/token""#] {
        let thief = Server::start(move |_| challenge(text)).await;
        let there = format!("http://{}/content", thief.host);
        let server = Server::start(move |_| with(307, "Location", there.clone())).await;
        let error = me(&server.host, &folder)
            .document(&tagged(&server.host))
            .await;
        let message = message(
            &error.unwrap_err(),
            &[(&thief.host, "THIEF"), (&server.host, "HOST")],
        );
        let expected = "cannot get HOST/team/scx:1 from THIEF: access denied: the request was sent without credentials";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!((server.count(), thief.count()), (1, 1), "{text}");
        assert_eq!(thief.requests()[0].authorization(), None);
    }
}
