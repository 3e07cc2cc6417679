//! The pattern for an issuer, a subject or a claim: an exact text, a prefix or a regular expression.
//!
//! Regular expressions match anywhere in the text, as cosign's do; one without an anchor at its
//! start causes a warning. Only printable ASCII ever matches: certificates hold nothing else, and
//! the two engines could differ on Unicode.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::go_syntax::{self, Anchoring, SyntaxError};

const MAX_CHARACTERS: usize = 1024;
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// For the issuer or the subject of an identity, or for a claim of its certificate.
#[derive(Debug, Clone)]
pub struct Pattern(PatternKind);

#[derive(Debug, Clone)]
enum PatternKind {
    Exact(String),
    Prefix(String),
    Regexp {
        program: Regex,
        anchoring: Anchoring,
    },
}

/// Why text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("is empty")]
    Empty,
    #[error("has more than {MAX_CHARACTERS} characters")]
    TooLong,
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A short expression can compile to an enormous program.
    #[error("is too large once compiled")]
    TooLarge,
}

impl Pattern {
    /// Matches exactly this text.
    ///
    /// # Errors
    /// When it is empty or too long.
    pub fn exact(text: &str) -> Result<Self, PatternError> {
        check_size(text)?;
        Ok(Self(PatternKind::Exact(text.to_owned())))
    }

    /// Matches every text that begins with this one.
    ///
    /// # Errors
    /// When it is empty or too long.
    pub fn prefix(text: &str) -> Result<Self, PatternError> {
        check_size(text)?;
        Ok(Self(PatternKind::Prefix(text.to_owned())))
    }

    /// Matches every text in which the regular expression has a match.
    ///
    /// # Errors
    /// When it is empty, too long, no regular expression, or one that cosign interprets differently.
    pub fn regexp(text: &str) -> Result<Self, PatternError> {
        check_size(text)?;
        let anchoring = go_syntax::check(text)?;
        let program = RegexBuilder::new(text)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                other => SyntaxError::Malformed(crate::untrusted::brief(&other.to_string())).into(),
            })?;
        Ok(Self(PatternKind::Regexp { program, anchoring }))
    }

    /// Whether a text from a certificate matches.
    pub fn matches(&self, text: &str) -> bool {
        let is_printable = |byte: u8| (0x20..0x7f).contains(&byte);
        text.bytes().all(is_printable)
            && match &self.0 {
                PatternKind::Exact(expected) => expected == text,
                PatternKind::Prefix(prefix) => text.starts_with(prefix.as_str()),
                PatternKind::Regexp { program, .. } => program.is_match(text),
            }
    }

    /// Whether a match may start in the middle of the text.
    pub fn is_unanchored(&self) -> bool {
        matches!(
            self.0,
            PatternKind::Regexp {
                anchoring: Anchoring::Anywhere,
                ..
            }
        )
    }

    /// Whether it is a prefix that ends in the middle of a name, so that it also matches longer names.
    pub fn is_open_prefix(&self) -> bool {
        matches!(&self.0, PatternKind::Prefix(prefix) if !prefix.ends_with(['/', '@', ':', '#', '?']))
    }

    /// The only text that matches, if there is only one.
    pub(super) fn exact_text(&self) -> Option<&str> {
        match &self.0 {
            PatternKind::Exact(text) => Some(text),
            PatternKind::Prefix(_) | PatternKind::Regexp { .. } => None,
        }
    }

    /// `exact`, `prefix` or `regexp`, and the text: the input of the policy's fingerprint.
    pub(super) fn canonical(&self) -> (&'static str, &str) {
        match &self.0 {
            PatternKind::Exact(text) => ("exact", text),
            PatternKind::Prefix(text) => ("prefix", text),
            PatternKind::Regexp { program, .. } => ("regexp", program.as_str()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            PatternKind::Exact(text) => f.write_str(text),
            PatternKind::Prefix(text) => write!(f, "{text}…"),
            PatternKind::Regexp { program, .. } => write!(f, "/{}/", program.as_str()),
        }
    }
}

fn check_size(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.chars().count() > MAX_CHARACTERS {
        return Err(PatternError::TooLong);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_regexp_matches_anywhere_and_an_exact_text_only_itself() {
        let loose = Pattern::regexp(r"github\.com/schedkit/").unwrap();
        assert!(loose.matches("https://evil.example/github.com/schedkit/"));
        assert!(loose.is_unanchored());
        let anchored = Pattern::regexp(r"^https://github\.com/schedkit/").unwrap();
        assert!(!anchored.matches("https://evil.example/https://github.com/schedkit/"));
        assert!(anchored.matches("https://github.com/schedkit/plumbing"));
        assert!(!anchored.is_unanchored());
        let exact = Pattern::exact("https://github.com/a.b").unwrap();
        assert!(exact.matches("https://github.com/a.b"));
        assert!(!exact.matches("https://github.com/aXb"));
        assert!(!exact.matches("https://github.com/a.b/"));
        assert!(!exact.is_unanchored());
    }

    #[test]
    fn a_prefix_matches_what_begins_with_it() {
        let organisation = Pattern::prefix("https://github.com/a/").unwrap();
        assert!(organisation.matches("https://github.com/a/b"));
        assert!(!organisation.matches("https://github.com/a-evil/b"));
        assert!(!organisation.matches("x https://github.com/a/b"));
        assert!(!organisation.is_open_prefix());
        assert!(
            Pattern::prefix("https://github.com/a")
                .unwrap()
                .is_open_prefix()
        );
        assert_eq!(Pattern::prefix("").unwrap_err(), PatternError::Empty);
    }

    #[test]
    fn only_plain_ascii_matches() {
        let any = Pattern::regexp("^.*$").unwrap();
        assert!(any.matches("a"));
        for text in ["é", "a\u{b}b", "a\nb", "a\u{7f}"] {
            assert!(!any.matches(text), "{text:?}");
            assert!(!Pattern::exact(text).unwrap().matches(text), "{text:?}");
        }
    }

    #[test]
    fn the_size_is_limited() {
        assert_eq!(Pattern::exact("").unwrap_err(), PatternError::Empty);
        assert_eq!(Pattern::regexp("").unwrap_err(), PatternError::Empty);
        let long = "a".repeat(MAX_CHARACTERS + 1);
        assert_eq!(Pattern::regexp(&long).unwrap_err(), PatternError::TooLong);
        let wide = r"^(\w{500}\W{500}){2}".repeat(40);
        assert_eq!(Pattern::regexp(&wide).unwrap_err(), PatternError::TooLarge);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(pattern: String, text: String) {
            if let Ok(pattern) = Pattern::regexp(&pattern) {
                let _ = pattern.matches(&text);
            }
        }
    }
}
