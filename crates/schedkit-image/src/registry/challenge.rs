//! Parses `WWW-Authenticate`, the challenge in a response with status 401. The text is hostile: no
//! input panics, and length and number of parameters are limited.

use reqwest::Url;

const MAX_BYTES: usize = 8 * 1024;
const MAX_PARAMETERS: usize = 32;

/// What the registry accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// A token from that server.
    Bearer(Bearer),
    /// User name and password.
    Basic,
}

/// The token server, and the parameters of a request to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// With http or https, and without a name or a password.
    pub realm: Url,
    pub service: Option<String>,
    pub scope: Option<String>,
}

/// Why a challenge cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeError {
    #[error("there is none")]
    None,
    #[error("it has more than {MAX_BYTES} bytes or {MAX_PARAMETERS} parameters")]
    TooLong,
    /// The text is not quoted: it can repeat a token that we sent.
    #[error("its syntax is wrong")]
    Text,
    #[error("it offers neither Bearer nor Basic")]
    Scheme,
    #[error("its realm is not the URL of a token server")]
    Realm,
}

/// The strongest challenge among the headers: a token before a password.
///
/// # Errors
/// When there is none that can be answered.
pub fn parse<'a>(headers: impl IntoIterator<Item = &'a str>) -> Result<Challenge, ChallengeError> {
    let mut offered = Vec::new();
    let mut length = 0;
    for header in headers {
        length += header.len();
        if length > MAX_BYTES {
            return Err(ChallengeError::TooLong);
        }
        parse_header(header, &mut offered)?;
    }
    if offered.is_empty() {
        return Err(ChallengeError::None);
    }
    if let Some(offer) = offered.iter().find(|offer| offer.is("bearer")) {
        return offer.bearer().map(Challenge::Bearer);
    }
    match offered.iter().any(|offer| offer.is("basic")) {
        true => Ok(Challenge::Basic),
        false => Err(ChallengeError::Scheme),
    }
}

struct Offer<'a> {
    scheme: &'a str,
    parameters: Vec<(&'a str, String)>,
}

impl Offer<'_> {
    fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let named = |(key, _): &&(&str, String)| key.eq_ignore_ascii_case(name);
        let found = self.parameters.iter().find(named);
        found.map(|(_, value)| value.as_str())
    }

    fn bearer(&self) -> Result<Bearer, ChallengeError> {
        let text = self.parameter("realm").unwrap_or_default();
        let mut realm = Url::parse(text).map_err(|_| ChallengeError::Realm)?;
        if !matches!(realm.scheme(), "http" | "https") {
            return Err(ChallengeError::Realm);
        }
        // A name or password in a URL would be sent as ours.
        let _ = realm.set_username("");
        let _ = realm.set_password(None);
        realm.set_fragment(None);
        Ok(Bearer {
            realm,
            service: self.parameter("service").map(str::to_owned),
            scope: self.parameter("scope").map(str::to_owned),
        })
    }
}

/// `Scheme key="value", key=value, Scheme2 …`: a token before a space starts a scheme, a token
/// before `=` is a parameter of the scheme before it.
fn parse_header<'a>(header: &'a str, offered: &mut Vec<Offer<'a>>) -> Result<(), ChallengeError> {
    let invalid = || ChallengeError::Text;
    let mut rest = header.trim_start_matches(is_separator);
    let mut parameters = 0;
    while !rest.is_empty() {
        let (token, after) =
            rest.split_at(rest.find(|c| !is_token_character(c)).unwrap_or(rest.len()));
        if token.is_empty() {
            return Err(invalid());
        }
        let trimmed = after.trim_start_matches([' ', '\t']);
        if let Some(value) = trimmed.strip_prefix('=') {
            let (value, after) = parameter_value(value.trim_start()).ok_or_else(invalid)?;
            let offer = offered.last_mut().ok_or_else(invalid)?;
            offer.parameters.push((token, value));
            rest = after;
        } else {
            let parameters = Vec::new();
            let scheme = token;
            offered.push(Offer { scheme, parameters });
            rest = after;
        }
        parameters += 1;
        if parameters > MAX_PARAMETERS {
            return Err(ChallengeError::TooLong);
        }
        rest = rest.trim_start_matches(is_separator);
    }
    Ok(())
}

fn is_separator(character: char) -> bool {
    matches!(character, ' ' | '\t' | ',')
}

fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

/// A token, or text in quotes with `\` as the escape character.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(is_separator).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[position + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bearer(header: &str) -> Bearer {
        match parse([header]) {
            Ok(Challenge::Bearer(bearer)) => bearer,
            other => panic!("{header}: {other:?}"),
        }
    }

    #[test]
    fn challenges_as_registries_send_them() {
        let hub = bearer(
            r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/nginx:pull""#,
        );
        assert_eq!(hub.realm.as_str(), "https://auth.docker.io/token");
        assert_eq!(hub.service.as_deref(), Some("registry.docker.io"));
        assert_eq!(hub.scope.as_deref(), Some("repository:library/nginx:pull"));
        let loose = bearer(r#"bearer  Realm = "https://a.b/?x=1" , service=some\"#);
        assert_eq!(loose.realm.as_str(), "https://a.b/?x=1");
        let two = bearer(r#"Basic realm="a, b", Bearer realm="https://a.b/""#);
        assert_eq!(two.realm.as_str(), "https://a.b/");
        let quoted = bearer(r#"Bearer realm="https://u:p@a.b/#f", service="a \"b\\""#);
        assert_eq!(quoted.service.as_deref(), Some(r#"a "b\"#));
        assert_eq!(quoted.realm.as_str(), "https://a.b/");
        assert_eq!(parse(["Negotiate", "Basic"]), Ok(Challenge::Basic));
        assert_eq!(parse([r#"BASIC realm="x""#]), Ok(Challenge::Basic));
    }

    #[test]
    fn challenges_that_cannot_be_answered() {
        let long = "x".repeat(MAX_BYTES + 1);
        let many = format!("Bearer {}", "a=b,".repeat(MAX_PARAMETERS));
        for (header, error) in [
            ("", ChallengeError::None),
            (" ,, ", ChallengeError::None),
            ("Negotiate", ChallengeError::Scheme),
            ("realm=\"x\"", ChallengeError::Text),
            ("Bearer realm=\"x", ChallengeError::Text),
            ("Bearer \"x\"", ChallengeError::Text),
            ("Bearer", ChallengeError::Realm),
            ("Bearer realm=x", ChallengeError::Realm),
            ("Bearer realm=file:///x", ChallengeError::Realm),
            (&long, ChallengeError::TooLong),
            (&many, ChallengeError::TooLong),
        ] {
            assert_eq!(parse([header]), Err(error), "{header:?}");
        }
        assert_eq!(parse([]), Err(ChallengeError::None));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(header in r#"\PC*|(Bearer|Basic|[a-c="\\, ]){0,30}"#) {
            let _ = parse([header.as_str()]);
        }
    }
}
