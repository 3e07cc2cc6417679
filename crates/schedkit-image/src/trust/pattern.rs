//! What an issuer or a subject must look like: exactly so, or as a regular expression says.
//!
//! Regular expressions match anywhere in the text, as cosign's do; one that is not tied to the
//! beginning earns a warning. What is matched comes from a certificate and is plain ASCII there;
//! anything else never matches, which also keeps the two engines' ideas of Unicode out of it.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::go_syntax::{self, Anchoring, SyntaxError};

const LONGEST: usize = 1024;
const LARGEST_PROGRAM: usize = 1 << 20;

/// One side of an identity.
#[derive(Debug, Clone)]
pub struct Pattern(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Exact(String),
    Regexp {
        program: Regex,
        anchoring: Anchoring,
    },
}

/// Why text is not taken as a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It would match nothing, or everything.
    #[error("is empty")]
    Empty,
    /// Nobody writes that.
    #[error("has more than {LONGEST} characters")]
    TooLong,
    /// The regular expression itself.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A short text can stand for an enormous machine.
    #[error("is too large once it is compiled")]
    TooLarge,
}

impl Pattern {
    /// Exactly this text.
    ///
    /// # Errors
    /// When it is empty or too long.
    pub fn exact(text: &str) -> Result<Self, PatternError> {
        sized(text)?;
        Ok(Self(Kind::Exact(text.to_owned())))
    }

    /// Whatever a regular expression finds a match in.
    ///
    /// # Errors
    /// When it is empty, too long, no regular expression, or one that cosign would read otherwise.
    pub fn regexp(text: &str) -> Result<Self, PatternError> {
        sized(text)?;
        let anchoring = go_syntax::check(text)?;
        let program = RegexBuilder::new(text)
            .size_limit(LARGEST_PROGRAM)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                other => SyntaxError::Malformed(crate::foreign::brief(&other.to_string())).into(),
            })?;
        Ok(Self(Kind::Regexp { program, anchoring }))
    }

    /// Whether a text from a certificate is meant.
    pub fn matches(&self, text: &str) -> bool {
        let plain = |byte: u8| (0x20..0x7f).contains(&byte);
        text.bytes().all(plain)
            && match &self.0 {
                Kind::Exact(wanted) => wanted == text,
                Kind::Regexp { program, .. } => program.is_match(text),
            }
    }

    /// Whether a match may begin in the middle of the text.
    pub fn is_unanchored(&self) -> bool {
        matches!(
            self.0,
            Kind::Regexp {
                anchoring: Anchoring::Anywhere,
                ..
            }
        )
    }

    /// `exact` or `regexp`, and the text: what the policy's fingerprint is made of.
    pub(super) fn canonical(&self) -> (&'static str, &str) {
        match &self.0 {
            Kind::Exact(text) => ("exact", text),
            Kind::Regexp { program, .. } => ("regexp", program.as_str()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Exact(text) => f.write_str(text),
            Kind::Regexp { program, .. } => write!(f, "/{}/", program.as_str()),
        }
    }
}

fn sized(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.chars().count() > LONGEST {
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
        let tied = Pattern::regexp(r"^https://github\.com/schedkit/").unwrap();
        assert!(!tied.matches("https://evil.example/https://github.com/schedkit/"));
        assert!(tied.matches("https://github.com/schedkit/plumbing"));
        assert!(!tied.is_unanchored());
        let exact = Pattern::exact("https://github.com/a.b").unwrap();
        assert!(exact.matches("https://github.com/a.b"));
        assert!(!exact.matches("https://github.com/aXb"));
        assert!(!exact.matches("https://github.com/a.b/"));
        assert!(!exact.is_unanchored());
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
    fn size_has_bounds() {
        assert_eq!(Pattern::exact("").unwrap_err(), PatternError::Empty);
        assert_eq!(Pattern::regexp("").unwrap_err(), PatternError::Empty);
        let long = "a".repeat(LONGEST + 1);
        assert_eq!(Pattern::regexp(&long).unwrap_err(), PatternError::TooLong);
        let wide = r"^(\w{500}\W{500}){2}".repeat(40);
        assert_eq!(Pattern::regexp(&wide).unwrap_err(), PatternError::TooLarge);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(pattern: String, text: String) {
            if let Ok(pattern) = Pattern::regexp(&pattern) {
                let _ = pattern.matches(&text);
            }
        }
    }
}
