//! `WWW-Authenticate`: what a registry wants to see before it answers. A parser of hostile text:
//! total, bounded; called with the headers of a 401 and asks nobody anything.

use reqwest::Url;

/// More than any registry sends.
const LONGEST: usize = 8 * 1024;
const MOST_PARAMETERS: usize = 32;

/// What has to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A token from that server.
    Bearer(Bearer),
    /// Name and password.
    Basic,
}

/// Where tokens are given out, and what to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) realm: Url,
    pub(super) service: Option<String>,
    pub(super) scope: Option<String>,
}

/// Why a challenge cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeError {
    /// A refusal without a word.
    #[error("there is none")]
    None,
    /// Beyond reason.
    #[error("it has more than {LONGEST} bytes or {MOST_PARAMETERS} parameters")]
    TooLong,
    /// Text that follows no grammar. It is not quoted: it can repeat a token that we sent.
    #[error("its text is no challenge")]
    Text,
    /// A scheme that we do not speak.
    #[error("it offers neither Bearer nor Basic")]
    Scheme,
    /// A token server without an address.
    #[error("its realm is no address of a token server")]
    Realm,
}

/// The strongest challenge among the headers: a token before a password.
pub(super) fn parse<'a>(
    headers: impl IntoIterator<Item = &'a str>,
) -> Result<Challenge, ChallengeError> {
    let mut offered = Vec::new();
    let mut length = 0;
    for header in headers {
        length += header.len();
        if length > LONGEST {
            return Err(ChallengeError::TooLong);
        }
        offers(header, &mut offered)?;
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
        // A name or password in an address would be sent as ours.
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

/// `Scheme key="value", key=value, Scheme2 …`: a word before a space begins a scheme, a word
/// before `=` is a parameter of the scheme before it.
fn offers<'a>(header: &'a str, offered: &mut Vec<Offer<'a>>) -> Result<(), ChallengeError> {
    let bad = || ChallengeError::Text;
    let mut rest = header.trim_start_matches(blank);
    let mut parameters = 0;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_token(c)).unwrap_or(rest.len()));
        if word.is_empty() {
            return Err(bad());
        }
        let trimmed = after.trim_start_matches([' ', '\t']);
        if let Some(value) = trimmed.strip_prefix('=') {
            let (value, after) = parameter_value(value.trim_start()).ok_or_else(bad)?;
            let offer = offered.last_mut().ok_or_else(bad)?;
            offer.parameters.push((word, value));
            rest = after;
        } else {
            let parameters = Vec::new();
            let scheme = word;
            offered.push(Offer { scheme, parameters });
            rest = after;
        }
        parameters += 1;
        if parameters > MOST_PARAMETERS {
            return Err(ChallengeError::TooLong);
        }
        rest = rest.trim_start_matches(blank);
    }
    Ok(())
}

fn blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | ',')
}

fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

/// A word, or text in quotes with `\` before what would end it.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(blank).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[place + 1..])),
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
    fn what_cannot_be_answered_says_why() {
        let long = "x".repeat(LONGEST + 1);
        let many = format!("Bearer {}", "a=b,".repeat(MOST_PARAMETERS));
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
        fn no_text_makes_it_stumble(header in r#"\PC*|(Bearer|Basic|[a-c="\\, ]){0,30}"#) {
            let _ = parse([header.as_str()]);
        }
    }
}
