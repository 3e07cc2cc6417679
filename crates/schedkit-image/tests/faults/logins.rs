//! Files of logins and credential helpers, good and bad, and the login that the registry receives.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use schedkit_image::registry::{
    Client, ClientConfig, Credentials, DefaultAuthFolders, Limits, Registry,
};

use crate::client::{client_config, long_limits, message, short_limits, tagged};
use crate::server::{Server, ok, with};

/// `me:hunter2`.
const ME: &str = "bWU6aHVudGVyMg==";

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A registry that challenges every request and accepts every login.
async fn challenging() -> Server {
    Server::start(|request| match request.authorization() {
        Some(_) => ok("{}"),
        None => with(401, "WWW-Authenticate", "Basic"),
    })
    .await
}

/// The login that the registry receives, or the error.
async fn login_sent(server: &Server, credentials: Credentials, folder: &Path) -> String {
    login_sent_within(long_limits(), server, credentials, folder).await
}

async fn login_sent_within(
    limits: Limits,
    server: &Server,
    credentials: Credentials,
    folder: &Path,
) -> String {
    let client = Client::new(ClientConfig {
        credentials,
        limits,
        ..client_config(&server.host)
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
            message(&error, &names)
        }
    }
}

#[tokio::test]
async fn the_default_files_are_read_in_their_order() {
    let server = challenging().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let login = |auth: &str| {
        format!(
            r#"{{"auths": {{"{}": {{"auth": "{auth}"}}}}}}"#,
            server.host
        )
    };
    let folders = || DefaultAuthFolders {
        session: Some(root.join("run/containers")),
        config: Some(root.join("config")),
        docker: Some(root.join("docker")),
    };
    let anonymous = login_sent(&server, Credentials::from_default_files(folders()), root).await;
    assert!(
        anonymous.contains("sent without credentials"),
        "{anonymous}"
    );
    // From the last to the first; each takes precedence over the one before. YTph is a:a, YjpiAA== b:b with a NUL.
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
        let credentials = Credentials::from_default_files(folders());
        assert_eq!(
            login_sent(&server, credentials, root).await,
            expected,
            "{file}"
        );
    }
}

#[tokio::test]
async fn unusable_files_are_errors_without_their_content() {
    let server = challenging().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let cannot = |why: &str| {
        format!(
            "cannot get HOST/team/scx:1 from HOST: cannot look up credentials: FOLDER/auth.json {why}"
        )
    };
    let no_json = |position: &str| cannot(&format!("holds no JSON with logins, see {position}"));
    let big = " ".repeat((1 << 20) + 1);
    for (text, expected) in [
        ("hunter2", no_json("line 1, column 1")),
        (r#"{"auths": "hunter2"}"#, no_json("line 1, column 19")),
        (
            r#"{"auths": {"a.b": {"auth": ["hunter2"]}}}"#,
            no_json("line 1, column 27"),
        ),
        (&big, cannot("cannot be used: has more than 1048576 bytes")),
        (
            r#"{"auths": {"HOST": {"auth": "hunter2!"}}}"#,
            cannot("has an entry for HOST whose auth is not base64 of NAME:PASSWORD"),
        ),
        (
            r#"{"credHelpers": {"HOST": "../../hunter2"}}"#,
            cannot("names a credential helper with characters that no helper's name has"),
        ),
    ] {
        let path = root.join("auth.json");
        write(&path, &text.replace("HOST", &server.host));
        let credentials = Credentials::from_file(path);
        assert_eq!(
            login_sent(&server, credentials, root).await,
            expected,
            "{text:.50}"
        );
    }
    let missing = Credentials::from_file(root.join("missing"));
    let message = login_sent(&server, missing, root).await;
    assert!(
        message.contains("FOLDER/missing cannot be used: cannot be read: "),
        "{message}"
    );
}

#[tokio::test]
async fn helpers_print_a_login_or_are_killed() {
    let server = challenging().await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let failed = |why: &str| {
        format!(
            "cannot get HOST/team/scx:1 from HOST: cannot look up credentials: docker-credential-lab {why}"
        )
    };
    let print_login = |user: &str| {
        format!(
            r#"read server; [ "$1" = get ] && echo "{{\"ServerURL\": \"$server\", \"Username\": \"{user}\", \"Secret\": \"hunter2\"}}""#
        )
    };
    let unknown = "echo credentials not found in native keychain; exit 1";
    let mine = r#", "auths": {"HOST": {"auth": "YTph"}}"#;
    let login = "Basic bWU6aHVudGVyMg==".to_owned();
    for (name, script, more, expected) in [
        ("good", print_login("me"), "", login.clone()),
        ("good before a file", print_login("me"), mine, login),
        ("knows the server", r#"read server; [ "$server" = HOST ] && echo '{"Username": "a", "Secret": "a"}'"#.to_owned(), "", "Basic YTph".to_owned()),
        ("unknown", unknown.to_owned(), "", "cannot get HOST/team/scx:1 from HOST: access denied: the request was sent without credentials; check the name, or log in (`podman login`) if it is not public".to_owned()),
        ("unknown, known to a file", unknown.to_owned(), mine, "Basic YTph".to_owned()),
        ("an identity is no password", print_login("<token>"), "", "cannot get HOST/team/scx:1 from HOST: access denied: the request was sent with the credentials of docker-credential-lab; check the name and whether the login is still valid".to_owned()),
        ("fails", "echo hunter2; exit 1".to_owned(), mine, failed("failed; run `docker-credential-lab list` to see why")),
        ("nonsense", "echo hunter2".to_owned(), "", failed("printed no login")),
        ("silent", "true".to_owned(), "", failed("printed no login")),
        ("hangs", "exec sleep 60".to_owned(), "", failed("did not finish within 300ms and was killed")),
        ("floods", "exec cat /dev/zero".to_owned(), "", failed("printed more than 65536 bytes and was killed")),
    ] {
        let program = root.join("bin/docker-credential-lab");
        write(&program, &format!("#!/bin/sh\n{}\n", script.replace("HOST", &server.host)));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        for key in [r#""credsStore": "lab""#, r#""credHelpers": {"HOST": "lab"}"#] {
            let path = root.join("auth.json");
            write(&path, &format!("{{{key}{more}}}").replace("HOST", &server.host));
            let credentials = Credentials::from_file(path).with_helpers([root.join("bin")]);
            let limits = match name {
                // Only this helper may time out, however busy the machine is.
                "hangs" => short_limits(),
                _ => long_limits(),
            };
            let sent = login_sent_within(limits, &server, credentials, root).await;
            assert_eq!(sent, expected, "{name}, {key}");
        }
    }
    let credentials = Credentials::from_file(root.join("auth.json"));
    assert_eq!(
        login_sent(&server, credentials, root).await,
        failed("is not installed")
    );
    std::fs::write(root.join("bin/docker-credential-lab"), "\0").unwrap();
    let credentials =
        Credentials::from_file(root.join("auth.json")).with_helpers([root.join("bin")]);
    let message = login_sent(&server, credentials, root).await;
    assert!(
        message.contains("cannot look up credentials: cannot run docker-credential-lab: "),
        "{message}"
    );
}
