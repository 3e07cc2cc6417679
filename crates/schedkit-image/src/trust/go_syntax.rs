//! Regular expressions that mean the same in Go and in Rust.
//!
//! People write policies with cosign's documentation, and cosign is written in Go. Both engines
//! derive from RE2 and agree on nearly everything; what only one of them accepts, or what they
//! interpret differently, is refused here, so that no pattern matches more for us than for cosign.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, Assertion, AssertionKind, Ast, ClassSetBinaryOp, ClassSetItem, Flag, FlagsItemKind,
    GroupKind, HexLiteralKind, Literal, LiteralKind, Repetition, RepetitionKind, RepetitionRange,
    Visitor,
};

const MAX_DEPTH: u32 = 50;
/// Go's limit for counted repetitions, nested ones multiplied.
const MAX_REPEATS: u32 = 1000;

/// Why a regular expression is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    #[error("is not a regular expression: {0}")]
    Malformed(String),
    #[error("uses {0}, which Go's regular expressions do not have or interpret differently")]
    NotGo(&'static str),
    #[error("repeats more than {MAX_REPEATS} times")]
    TooManyRepeats,
}

/// Where a match can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchoring {
    /// Only at the start of the text.
    Start,
    Anywhere,
}

/// Checks a pattern and returns where its matches can start.
pub(super) fn check(pattern: &str) -> Result<Anchoring, SyntaxError> {
    let mut parser = ParserBuilder::new().nest_limit(MAX_DEPTH).build();
    let ast = parser
        .parse(pattern)
        .map_err(|error| SyntaxError::Malformed(error.kind().to_string()))?;
    ast::visit(&ast, Differences { repeats: vec![1] })?;
    if starts_with_anchor(&ast) {
        Ok(Anchoring::Start)
    } else {
        Ok(Anchoring::Anywhere)
    }
}

fn starts_with_anchor(ast: &Ast) -> bool {
    match ast {
        Ast::Assertion(assertion) => matches!(
            assertion.kind,
            AssertionKind::StartLine | AssertionKind::StartText
        ),
        Ast::Group(group) => starts_with_anchor(&group.ast),
        Ast::Alternation(choice) => choice.asts.iter().all(starts_with_anchor),
        Ast::Concat(parts) => parts
            .asts
            .iter()
            .find(|part| !matches!(part, Ast::Flags(_)))
            .is_some_and(starts_with_anchor),
        _ => false,
    }
}

/// Visits a pattern and stops at the first construct that the two engines do not share.
struct Differences {
    /// The products of the counted repetitions around the current node, innermost last.
    repeats: Vec<u32>,
}

impl Visitor for Differences {
    type Output = ();
    type Err = SyntaxError;

    fn finish(self) -> Result<(), SyntaxError> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), SyntaxError> {
        match ast {
            Ast::Flags(set) => flags(&set.flags),
            Ast::Literal(it) => literal(it),
            Ast::Assertion(it) => assertion(it),
            Ast::ClassUnicode(_) => Err(SyntaxError::NotGo("a Unicode class such as \\pL")),
            Ast::Repetition(it) => self.enter(it),
            Ast::Group(group) => group_kind(&group.kind),
            _ => Ok(()),
        }
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), SyntaxError> {
        if matches!(ast, Ast::Repetition(_)) {
            self.repeats.pop();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), SyntaxError> {
        match item {
            ClassSetItem::Literal(it) => literal(it),
            ClassSetItem::Range(range) => literal(&range.start).and(literal(&range.end)),
            ClassSetItem::Unicode(_) => Err(SyntaxError::NotGo("a Unicode class such as \\pL")),
            ClassSetItem::Bracketed(_) => Err(SyntaxError::NotGo("a class inside a class")),
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ClassSetBinaryOp) -> Result<(), SyntaxError> {
        Err(SyntaxError::NotGo("`&&`, `--` or `~~` inside a class"))
    }
}

impl Differences {
    fn enter(&mut self, repetition: &Repetition) -> Result<(), SyntaxError> {
        if matches!(*repetition.ast, Ast::Repetition(_)) {
            return Err(SyntaxError::NotGo(
                "a repetition of a repetition, as in a**",
            ));
        }
        let times = match repetition.op.kind {
            RepetitionKind::Range(
                RepetitionRange::Exactly(times)
                | RepetitionRange::AtLeast(times)
                | RepetitionRange::Bounded(_, times),
            ) => times.max(1),
            _ => 1,
        };
        let around = self.repeats.last().copied().unwrap_or(1);
        let product = around.saturating_mul(times);
        if product > MAX_REPEATS {
            return Err(SyntaxError::TooManyRepeats);
        }
        self.repeats.push(product);
        Ok(())
    }
}

fn literal(literal: &Literal) -> Result<(), SyntaxError> {
    match literal.kind {
        LiteralKind::HexFixed(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong)
        | LiteralKind::HexBrace(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong) => {
            Err(SyntaxError::NotGo("\\u or \\U (write \\x{…})"))
        }
        _ => Ok(()),
    }
}

fn assertion(assertion: &Assertion) -> Result<(), SyntaxError> {
    match assertion.kind {
        AssertionKind::StartLine
        | AssertionKind::EndLine
        | AssertionKind::StartText
        | AssertionKind::EndText
        | AssertionKind::WordBoundary
        | AssertionKind::NotWordBoundary => Ok(()),
        _ => Err(SyntaxError::NotGo(
            "one-sided word boundaries (`\\<`, `\\b{start}`)",
        )),
    }
}

fn group_kind(kind: &GroupKind) -> Result<(), SyntaxError> {
    match kind {
        GroupKind::CaptureIndex(_) => Ok(()),
        GroupKind::NonCapturing(set) => flags(set),
        GroupKind::CaptureName { name, .. } => {
            let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
            if name.name.chars().all(plain) {
                Ok(())
            } else {
                Err(SyntaxError::NotGo(
                    "a group name beyond A-Z, a-z, 0-9 and _",
                ))
            }
        }
    }
}

fn flags(flags: &ast::Flags) -> Result<(), SyntaxError> {
    for item in &flags.items {
        if let FlagsItemKind::Flag(Flag::Unicode | Flag::CRLF | Flag::IgnoreWhitespace) = item.kind
        {
            return Err(SyntaxError::NotGo("the flags u, R or x"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_syntax_is_accepted() {
        for pattern in [
            r"^https://github\.com/my-org/my-repo/.*",
            r"(?i)^a(?:b|c){2,3}$",
            r"^[a-z0-9._%+\-]+@example\.com$",
            r"\Ahttps?://[[:alnum:]]+\z",
            r"^\d+\w*\s?\x41\x{42}\bx$",
            r"^(?P<owner>[^/]+)/(?<repo>.+?)$",
            r"^(a{10}){100}$",
            r"^(a*)*$",
        ] {
            assert_eq!(check(pattern), Ok(Anchoring::Start), "{pattern}");
        }
    }

    #[test]
    fn syntax_that_go_lacks_or_interprets_differently_is_refused() {
        for pattern in [
            r"\pL",
            r"[\pL]",
            r"\p{Greek}",
            r"a[b[c]]",
            r"[a&&b]",
            r"[a-z--c]",
            r"[a~~b]",
            r"\<a",
            r"\b{start}a",
            r"a**",
            r"a+*",
            r"a{2}{3}",
            r"\u0041",
            r"[\u{41}]",
            r"(?x)a b",
            r"(?u:a)",
            r"(?R)a",
            r"(?-u)a",
            r"(?P<a.b>c)",
        ] {
            assert!(
                matches!(check(pattern), Err(SyntaxError::NotGo(_))),
                "{pattern}"
            );
        }
        for pattern in ["a{1001}", "(a{100}){11}", "(a{2,}){501}"] {
            assert_eq!(
                check(pattern),
                Err(SyntaxError::TooManyRepeats),
                "{pattern}"
            );
        }
        let deep = format!("{}a{}", "(".repeat(51), ")".repeat(51));
        for pattern in ["(", "[", "a{,5}", r"\Q.\E", r"\1", "(?=a)", deep.as_str()] {
            assert!(
                matches!(check(pattern), Err(SyntaxError::Malformed(_))),
                "{pattern}"
            );
        }
    }

    #[test]
    fn patterns_that_may_match_in_the_middle_are_recognized() {
        for pattern in ["", "a", "^a|b", "(^a|b)c", "a^", "(?i)a", "(?:^)?a"] {
            assert_eq!(check(pattern), Ok(Anchoring::Anywhere), "{pattern}");
        }
        for pattern in ["^", "^a|^b", "(^a|^b)c", "(?i)^a", r"\Aa"] {
            assert_eq!(check(pattern), Ok(Anchoring::Start), "{pattern}");
        }
    }
}
