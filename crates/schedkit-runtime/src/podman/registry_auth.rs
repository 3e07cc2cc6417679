//! The `X-Registry-Auth` header: the login for a registry, for Podman to use.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use hyper::header::HeaderValue;
use schedkit_core::Repository;
use schedkit_image::registry::Login;
use schedkit_image::secret::Secret;
use serde_json::json;

/// The header's value; `None` without a login, and then Podman uses its own logins. It names the
/// host, so that Podman does not send it to a mirror of its own configuration.
pub(super) fn header(repository: &Repository, login: &Login) -> Option<HeaderValue> {
    let entry = match login {
        Login::Anonymous => return None,
        Login::Password { user, password } => {
            json!({"username": user, "password": password.expose()})
        }
        Login::Identity(token) => json!({"identitytoken": token.expose()}),
    };
    let text = json!({repository.host().as_str(): entry}).to_string();
    let text = Secret::new(text);
    let encoded = Secret::new(URL_SAFE.encode(text.expose()));
    let mut value = HeaderValue::from_str(encoded.expose()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(login: &Login) -> String {
        let value = header(&"a.b:5000/c".parse().unwrap(), login).unwrap();
        assert_eq!(format!("{value:?}"), "Sensitive");
        String::from_utf8(URL_SAFE.decode(value.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_login_goes_to_its_host_only_and_is_not_printed() {
        let password = Login::Password {
            user: "u".to_owned(),
            password: Secret::new("p>?ü".to_owned()),
        };
        let expected = r#"{"a.b:5000":{"password":"p>?ü","username":"u"}}"#;
        assert_eq!(decoded(&password), expected);
        let token = Login::Identity(Secret::new("t".to_owned()));
        assert_eq!(decoded(&token), r#"{"a.b:5000":{"identitytoken":"t"}}"#);
        assert!(header(&"a.b/c".parse().unwrap(), &Login::Anonymous).is_none());
    }
}
