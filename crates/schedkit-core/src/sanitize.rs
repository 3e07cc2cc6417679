//! Makes text from outside safe to print in a message: short, on one line, without control
//! characters.
//!
//! Used for text of the kernel, of schedulers, runtimes and registries.

const BRIEF: usize = 200;

/// Trimmed, at most 200 characters, without control characters.
pub fn brief(text: &str) -> String {
    shortened(text.trim(), BRIEF)
}

/// At most that many characters, without control characters.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(text),
    }
}

/// Control and text-direction characters become `�`; line breaks and tabs become spaces.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\r' | '\t' => ' ',
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '�',
            other if other.is_control() => '�',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}"), "a�[2Jb c�");
        assert_eq!(brief("  two parts \n"), "two parts");
    }

    proptest! {
        #[test]
        fn a_brief_text_is_short_and_on_one_line(text: String) {
            let brief = brief(&text);
            prop_assert!(brief.chars().count() <= BRIEF + 1);
            prop_assert!(!brief.contains(char::is_control));
        }
    }
}
