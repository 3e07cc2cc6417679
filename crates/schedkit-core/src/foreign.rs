//! Text from outside, made fit to stand in a sentence.
//!
//! Used wherever a word of the kernel, of a scheduler or of a registry is repeated to a person.
//! It judges nothing: what a text means is for its parser to say.

const BRIEF: usize = 200;

/// At most 200 characters, nothing that moves a terminal's cursor.
pub fn brief(text: &str) -> String {
    shortened(text.trim(), BRIEF)
}

/// At most that many characters, nothing that moves a terminal's cursor.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(text),
    }
}

/// Control and direction characters become `�`; line breaks and tabs become spaces.
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
    fn a_terminal_is_safe_from_what_is_printed() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}"), "a�[2Jb c�");
        assert_eq!(brief("  two words \n"), "two words");
    }

    proptest! {
        #[test]
        fn whatever_is_brief_is_short_and_one_line(text: String) {
            let brief = brief(&text);
            prop_assert!(brief.chars().count() <= BRIEF + 1);
            prop_assert!(!brief.contains(char::is_control));
        }
    }
}
