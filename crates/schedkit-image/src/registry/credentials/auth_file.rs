//! `auth.json` of podman and `config.json` of docker, which have the same format. Parses text; it
//! opens no file and starts no process.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use super::login::Login;
use crate::secret::Secret;

/// Docker Hub has several host names; references use this one.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_NAMES: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];
/// The key under which docker stores the login of Docker Hub.
const DOCKER_HUB_SERVER: &str = "https://index.docker.io/v1/";

/// Logins, and the helpers that hold further ones.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuthFile {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    #[serde(default)]
    creds_store: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    auth: Option<Secret>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    password: Option<Secret>,
    #[serde(default, rename = "identitytoken")]
    identity_token: Option<Secret>,
}

/// An entry that is not empty and holds no login.
#[derive(Debug)]
pub(super) struct InvalidEntry {
    pub(super) host: String,
}

impl AuthFile {
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What docker wrote before version 1.7: the logins without anything around them.
    pub(super) fn parse_old(text: &str) -> Result<Self, serde_json::Error> {
        let auths = serde_json::from_str(text)?;
        Ok(Self {
            auths,
            cred_helpers: BTreeMap::new(),
            creds_store: None,
        })
    }

    /// The helper that is named for this host, else the one that is named for all.
    pub(super) fn helper(&self, host: &str) -> Option<&str> {
        let host = canonical_host(host);
        let mut helpers = self.cred_helpers.iter();
        let named = helpers.find(|(key, _)| canonical_host(&host_and_path(key)) == host);
        let name = named.map(|(_, name)| name).or(self.creds_store.as_ref())?;
        (!name.is_empty()).then_some(name.as_str())
    }

    /// The login for a repository: the entry of the longest prefix, whole parts of the path only.
    pub(super) fn login(&self, host: &str, path: &str) -> Result<Option<Login>, InvalidEntry> {
        let wanted = format!("{}/{path}/", canonical_host(host));
        let fits = |(key, entry): (&String, _)| {
            let key = host_and_path(key);
            let (host, path) = key.split_once('/').unwrap_or((&key, ""));
            let prefix = format!("{}/{path}", canonical_host(host));
            let prefix = format!("{}/", prefix.trim_end_matches('/'));
            wanted.starts_with(&prefix).then_some((prefix.len(), entry))
        };
        let mut entries = self.auths.iter().filter_map(fits).collect::<Vec<_>>();
        entries.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        for (_, entry) in entries {
            let login = entry.login().map_err(|Undecodable| InvalidEntry {
                host: host.to_owned(),
            })?;
            if login.is_some() {
                return Ok(login);
            }
        }
        Ok(None)
    }
}

struct Undecodable;

impl Entry {
    /// Docker writes an empty entry when a helper holds the login.
    fn login(&self) -> Result<Option<Login>, Undecodable> {
        let is_set = |secret: &&Secret| !secret.expose().is_empty();
        if let Some(token) = self.identity_token.as_ref().filter(is_set) {
            return Ok(Some(Login::Identity(token.clone())));
        }
        if let Some(auth) = self.auth.as_ref().filter(is_set) {
            return decode(auth).map(Some).ok_or(Undecodable);
        }
        let user = self.username.clone().filter(|user| !user.is_empty());
        let both = user.zip(self.password.clone());
        Ok(both.map(|(user, password)| Login::Password { user, password }))
    }
}

/// Base64 of `NAME:PASSWORD`, with or without padding.
fn decode(auth: &Secret) -> Option<Login> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let base64 = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    let bytes = base64.decode(auth.expose().trim()).ok()?;
    let text = Secret::new(String::from_utf8(bytes).ok()?);
    let (user, password) = text.expose().split_once(':')?;
    // Some old tools wrote C strings.
    let password = Secret::new(password.trim_end_matches('\0').to_owned());
    let user = user.to_owned();
    (!user.is_empty()).then_some(Login::Password { user, password })
}

/// The name of this host in a request to a helper.
pub(super) fn server_of(host: &str) -> &str {
    match canonical_host(host) {
        DOCKER_HUB => DOCKER_HUB_SERVER,
        other => other,
    }
}

fn canonical_host(host: &str) -> &str {
    match DOCKER_HUB_NAMES.contains(&host) {
        true => DOCKER_HUB,
        false => host,
    }
}

/// The key of an entry without the scheme and version that old versions of docker wrote.
fn host_and_path(key: &str) -> String {
    let bare = key.strip_prefix("https://").or(key.strip_prefix("http://"));
    let bare = match bare {
        Some(bare) => {
            let bare = bare.trim_end_matches('/');
            let unversioned = bare.strip_suffix("/v1").or(bare.strip_suffix("/v2"));
            unversioned.unwrap_or(bare)
        }
        None => key.trim_end_matches('/'),
    };
    // Hosts are compared without regard to case; paths have no upper case.
    bare.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn login_of(file: &str, host: &str, path: &str) -> String {
        match AuthFile::parse(file).unwrap().login(host, path) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(Login::Password { user, password })) => format!("{user}:{}", password.expose()),
            Ok(Some(Login::Identity(token))) => format!("identity {}", token.expose()),
            Ok(Some(Login::Anonymous)) => "anonymous".to_owned(),
            Err(InvalidEntry { host }) => format!("bad entry for {host}"),
        }
    }

    #[test]
    fn logins_are_found_by_host_and_by_the_longest_prefix() {
        // bTpwOng= is m:p:x, YTph is a:a, YjpiAA== is b:b and a NUL.
        let file = r#"{"auths": {
            "a.b:5000": {"auth": "YTph"},
            "a.b:5000/team": {"auth": "bTpwOng="},
            "a.b:5000/empty": {},
            "https://index.docker.io/v1/": {"auth": "YjpiAA"},
            "https://C.d/v2/": {"username": "me", "password": "pw"},
            "e.f/v1": {"identitytoken": "idt", "auth": "YTph"},
            "g.h": {"auth": "YTph="},
            "i.j": {"auth": "YQ=="},
            "k.l": {"auth": "", "username": ""}
        }, "HttpHeaders": {"x": "y"}}"#;
        for (host, path, expected) in [
            ("a.b:5000", "other/x", "a:a"),
            ("a.b:5000", "team/x", "m:p:x"),
            ("a.b:5000", "team", "m:p:x"),
            ("a.b:5000", "teamwork/x", "a:a"),
            ("a.b:5000", "empty/x", "a:a"),
            ("a.b", "team/x", "nothing"),
            ("docker.io", "library/nginx", "b:b"),
            ("c.d", "x", "me:pw"),
            ("e.f", "v1/x", "identity idt"),
            ("e.f", "x", "nothing"),
            ("g.h", "x", "bad entry for g.h"),
            ("i.j", "x", "bad entry for i.j"),
            ("k.l", "x", "nothing"),
        ] {
            assert_eq!(login_of(file, host, path), expected, "{host}/{path}");
        }
    }

    #[test]
    fn a_helper_for_the_host_precedes_the_helper_for_all_hosts() {
        let file = r#"{"credHelpers": {"a.b": "own", "https://index.docker.io/v1/": "hub"}, "credsStore": "all"}"#;
        let file = AuthFile::parse(file).unwrap();
        assert_eq!(file.helper("a.b"), Some("own"));
        assert_eq!(file.helper("docker.io"), Some("hub"));
        assert_eq!(file.helper("c.d"), Some("all"));
        assert_eq!(AuthFile::parse("{}").unwrap().helper("a.b"), None);
        assert_eq!(server_of("docker.io"), "https://index.docker.io/v1/");
        assert_eq!(server_of("a.b:1"), "a.b:1");
    }

    proptest! {
        #[test]
        fn no_entry_makes_it_panic(key in r"\PC*|[a./:htps]{0,20}", auth in r"\PC*|[A-Za-z0-9=]{0,20}") {
            let file = serde_json::json!({"auths": {key: {"auth": auth}}}).to_string();
            let _ = AuthFile::parse(&file).unwrap().login("a.b", "c");
        }
    }
}
