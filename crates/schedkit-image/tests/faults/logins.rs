//! Files of logins and credential helpers, good and bad. What the registry is shown decides.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use schedkit_image::registry::{Client, Credentials, Limits, Registry, Settings, UsualPlaces};

use crate::asking::{hasty, patient, said, settings, tagged};
use crate::server::{Server, ok, with};

/// `me:hunter2`.
const ME: &str = "bWU6aHVudGVyMg==";

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A registry that asks everybody who they are and lets in whoever says so.
async fn curious() -> Server {
    Server::start(|request| match request.authorization() {
        Some(_) => ok("{}"),
        None => with(401, "WWW-Authenticate", "Basic"),
    })
    .await
}

/// The login that the registry is shown, or what the error says.
async fn shown(server: &Server, credentials: Credentials, folder: &Path) -> String {
    shown_within(patient(), server, credentials, folder).await
}

async fn shown_within(
    limits: Limits,
    server: &Server,
    credentials: Credentials,
    folder: &Path,
) -> String {
    let client = Client::new(Settings {
        credentials,
        limits,
        ..settings(&server.host)
    });
    let before = server.count();
    let folder = folder.display().to_string();
    let names = [(folder.as_str(), "FOLDER"), (server.host.as_str(), "HOST")];
    match client.document(&tagged(&server.host)).await {
        Ok(_) => server.requests()[before + 1]
            .authorization()
            .unwrap()
            .to_owned(),
        Err(error) => {
            assert_eq!(server.count(), before + 1);
            said(&error, &names)
        }
    }
}

#[tokio::test]
async fn the_usual_files_are_asked_in_their_order() {
    let server = curious().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let login = |auth: &str| {
        format!(
            r#"{{"auths": {{"{}": {{"auth": "{auth}"}}}}}}"#,
            server.host
        )
    };
    let places = || UsualPlaces {
        runtime: Some(root.join("run")),
        config: Some(root.join("config")),
        docker: Some(root.join("docker")),
    };
    let nobody = shown(&server, Credentials::from_usual(places()), root).await;
    assert!(nobody.contains("we came without credentials"), "{nobody}");
    // From the last to the first; each takes over. YTph is a:a, YjpiAA== b:b with a NUL.
    for (file, text, expected) in [
        ("docker/config.json", login("YjpiAA=="), "Basic Yjpi"),
        (
            "config/containers/auth.json",
            r#"{"auths": {"other.invalid": {}}}"#.to_owned(),
            "Basic Yjpi",
        ),
        ("config/containers/auth.json", login("YTph"), "Basic YTph"),
        (
            "run/containers/auth.json",
            login(ME),
            "Basic bWU6aHVudGVyMg==",
        ),
    ] {
        write(&root.join(file), &text);
        let credentials = Credentials::from_usual(places());
        assert_eq!(shown(&server, credentials, root).await, expected, "{file}");
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_say_so_and_not_what_they_hold() {
    let server = curious().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let cannot = |why: &str| format!("cannot look up credentials for HOST: FOLDER/auth.json {why}");
    let no_file = |place: &str| cannot(&format!("is no file of logins, see {place}"));
    let big = " ".repeat((1 << 20) + 1);
    for (text, expected) in [
        ("hunter2", no_file("line 1, column 1")),
        (r#"{"auths": "hunter2"}"#, no_file("line 1, column 19")),
        (
            r#"{"auths": {"a.b": {"auth": ["hunter2"]}}}"#,
            no_file("line 1, column 27"),
        ),
        (&big, cannot("cannot be used: has more than 1048576 bytes")),
        (
            r#"{"auths": {"HOST": {"auth": "hunter2!"}}}"#,
            cannot("has an entry for HOST whose auth is no base64 of NAME:PASSWORD"),
        ),
        (
            r#"{"credHelpers": {"HOST": "../../hunter2"}}"#,
            cannot("names a credential helper that cannot be one"),
        ),
    ] {
        let path = root.join("auth.json");
        write(&path, &text.replace("HOST", &server.host));
        let credentials = Credentials::from_file(path);
        assert_eq!(
            shown(&server, credentials, root).await,
            expected,
            "{text:.50}"
        );
    }
    let missing = Credentials::from_file(root.join("missing"));
    let said = shown(&server, missing, root).await;
    assert!(
        said.contains("FOLDER/missing cannot be used: cannot be read: "),
        "{said}"
    );
}

#[tokio::test]
async fn helpers_answer_or_are_ended() {
    let server = curious().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let failed =
        |why: &str| format!("cannot look up credentials for HOST: docker-credential-lab {why}");
    let answer = |user: &str| {
        format!(
            r#"read server; [ "$1" = get ] && echo "{{\"ServerURL\": \"$server\", \"Username\": \"{user}\", \"Secret\": \"hunter2\"}}""#
        )
    };
    let unknown = "echo credentials not found in native keychain; exit 1";
    let mine = r#", "auths": {"HOST": {"auth": "YTph"}}"#;
    let login = "Basic bWU6aHVudGVyMg==".to_owned();
    for (name, script, more, expected) in [
        ("good", answer("me"), "", login.clone()),
        ("good before a file", answer("me"), mine, login),
        ("knows the server", r#"read server; [ "$server" = HOST ] && echo '{"Username": "a", "Secret": "a"}'"#.to_owned(), "", "Basic YTph".to_owned()),
        ("unknown", unknown.to_owned(), "", "HOST does not let us read HOST/team/scx:1: we came without credentials; check its name, or log in (`podman login`) if it is not public".to_owned()),
        ("unknown, known to a file", unknown.to_owned(), mine, "Basic YTph".to_owned()),
        ("an identity is no password", answer("<token>"), "", "HOST does not let us read HOST/team/scx:1: we came with the credentials of docker-credential-lab; check its name and whether the login still holds".to_owned()),
        ("fails", "echo hunter2; exit 1".to_owned(), mine, failed("failed; run `docker-credential-lab list` to see why")),
        ("nonsense", "echo hunter2".to_owned(), "", failed("answered with no login")),
        ("silent", "true".to_owned(), "", failed("answered with no login")),
        ("hangs", "exec sleep 60".to_owned(), "", failed("gave no answer in 300ms and was ended")),
        ("floods", "exec cat /dev/zero".to_owned(), "", failed("answered with more than 65536 bytes and was ended")),
    ] {
        let program = root.join("bin/docker-credential-lab");
        write(&program, &format!("#!/bin/sh\n{}\n", script.replace("HOST", &server.host)));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        for key in [r#""credsStore": "lab""#, r#""credHelpers": {"HOST": "lab"}"#] {
            let path = root.join("auth.json");
            write(&path, &format!("{{{key}{more}}}").replace("HOST", &server.host));
            let credentials = Credentials::from_file(path).with_helpers([root.join("bin")]);
            let limits = match name {
                // It alone is to be given up, however busy the machine is.
                "hangs" => hasty(),
                _ => patient(),
            };
            let shown = shown_within(limits, &server, credentials, root).await;
            assert_eq!(shown, expected, "{name}, {key}");
        }
    }
    let credentials = Credentials::from_file(root.join("auth.json"));
    assert_eq!(
        shown(&server, credentials, root).await,
        failed("is not installed")
    );
    std::fs::write(root.join("bin/docker-credential-lab"), "\0").unwrap();
    let credentials =
        Credentials::from_file(root.join("auth.json")).with_helpers([root.join("bin")]);
    let said = shown(&server, credentials, root).await;
    assert!(
        said.starts_with("cannot look up credentials for HOST: cannot run docker-credential-lab: "),
        "{said}"
    );
}
