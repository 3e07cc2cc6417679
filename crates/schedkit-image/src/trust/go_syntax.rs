//! Regular expressions that mean the same in Go and in Rust.
//!
//! People write a policy with cosign's documentation beside them, and cosign is written in Go. Both
//! engines come from RE2 and agree on nearly everything; what only one of them takes, or what each
//! reads its own way, is refused here, so that no pattern means more to us than to cosign. Called
//! by `pattern` only.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, Assertion, AssertionKind, Ast, ClassSetBinaryOp, ClassSetItem, Flag, FlagsItemKind,
    GroupKind, HexLiteralKind, Literal, LiteralKind, Repetition, RepetitionKind, RepetitionRange,
    Visitor,
};

/// Deeper than anyone nests by hand.
const DEEPEST: u32 = 50;
/// Go's own limit for counted repetitions, nested ones multiplied.
const MOST_REPEATS: u32 = 1000;

/// Why a regular expression is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// It is no regular expression.
    #[error("is no regular expression: {0}")]
    Malformed(String),
    /// It is one, but not one that cosign would read the same way.
    #[error("uses {0}, which Go's regular expressions do not have or read differently")]
    NotGo(&'static str),
    /// Go's limit.
    #[error("repeats more than {MOST_REPEATS} times")]
    TooManyRepeats,
}

/// Whether every match begins at the beginning of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchoring {
    /// It does.
    Start,
    /// A match may begin anywhere.
    Anywhere,
}

/// Checks a pattern, and says whether it is tied to the beginning.
pub(super) fn check(pattern: &str) -> Result<Anchoring, SyntaxError> {
    let mut parser = ParserBuilder::new().nest_limit(DEEPEST).build();
    let ast = parser
        .parse(pattern)
        .map_err(|error| SyntaxError::Malformed(error.kind().to_string()))?;
    ast::visit(&ast, Differences { repeats: vec![1] })?;
    if begins_at_start(&ast) {
        Ok(Anchoring::Start)
    } else {
        Ok(Anchoring::Anywhere)
    }
}

fn begins_at_start(ast: &Ast) -> bool {
    match ast {
        Ast::Assertion(assertion) => matches!(
            assertion.kind,
            AssertionKind::StartLine | AssertionKind::StartText
        ),
        Ast::Group(group) => begins_at_start(&group.ast),
        Ast::Alternation(choice) => choice.asts.iter().all(begins_at_start),
        Ast::Concat(parts) => parts
            .asts
            .iter()
            .find(|part| !matches!(part, Ast::Flags(_)))
            .is_some_and(begins_at_start),
        _ => false,
    }
}

/// Walks over a pattern and stops at the first thing that the two engines do not share.
struct Differences {
    /// The product of all counted repetitions around here, innermost last.
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
        if product > MOST_REPEATS {
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
    fn what_both_engines_read_alike_is_taken() {
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
    fn what_go_refuses_or_reads_differently_is_refused() {
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
    fn a_pattern_that_may_match_in_the_middle_is_noticed() {
        for pattern in ["", "a", "^a|b", "(^a|b)c", "a^", "(?i)a", "(?:^)?a"] {
            assert_eq!(check(pattern), Ok(Anchoring::Anywhere), "{pattern}");
        }
        for pattern in ["^", "^a|^b", "(^a|^b)c", "(?i)^a", r"\Aa"] {
            assert_eq!(check(pattern), Ok(Anchoring::Start), "{pattern}");
        }
    }
}
