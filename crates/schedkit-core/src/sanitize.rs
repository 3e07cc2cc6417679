//! Makes text from outside safe to print: short, on one line, without control characters.
//!
//! Used for text of the kernel, of schedulers, runtimes and registries. What is neutralized: control
//! characters (C0, DEL and C1, so carriage returns and escape sequences of 7 and of 8 bits), line
//! separators, and characters that change the direction of text.

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

/// Whether a terminal might interpret it instead of showing it.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Unsafe characters become `�`; line breaks and tabs become spaces.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\r' | '\t' => ' ',
            other if is_unsafe(other) => '�',
            other => other,
        })
        .collect()
}

/// For text that we composed, with line breaks, tabs and colours (`ESC [ digits m`): any other unsafe
/// character in it was overlooked, and becomes `�`.
pub fn styled(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match colour(rest) {
            Some(length) => {
                safe.push_str(&rest[..length]);
                length
            }
            None => {
                let is_kept = matches!(character, '\n' | '\t') || !is_unsafe(character);
                safe.push(if is_kept { character } else { '�' });
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    safe
}

/// The length of the colour that the text begins with.
fn colour(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("\u{1b}[")?;
    let after = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    let after = after.strip_prefix('m')?;
    Some(text.len() - after.len())
}

/// The same JSON document, with unsafe characters escaped: serializers escape only some of them.
pub fn json(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    for character in document.chars() {
        if is_unsafe(character) && character != '\n' {
            // All of them have four digits.
            safe.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            safe.push(character);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}"), "a�[2Jb c�");
        assert_eq!(brief("  two parts \n"), "two parts");
        // CR, DEL, and CSI and NEL of the C1 set.
        assert_eq!(printable("a\rb\u{7f}\u{9b}2J\u{85}\u{2028}"), "a b��2J��");
    }

    #[test]
    fn only_colours_line_breaks_and_tabs_stay_in_composed_text() {
        let composed = "\ta\u{1b}[1;32mok\u{1b}[0m\r\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\n";
        assert_eq!(
            styled(composed),
            "\ta\u{1b}[1;32mok\u{1b}[0m��[2J�]0;x��31m\n"
        );
    }

    proptest! {
        #[test]
        fn a_brief_text_is_short_and_on_one_line(text: String) {
            let brief = brief(&text);
            prop_assert!(brief.chars().count() <= BRIEF + 1);
            prop_assert!(!brief.contains(is_unsafe));
        }

        #[test]
        fn composed_text_has_no_unsafe_character_but_colours(text in hostile()) {
            let mut safe = styled(&text);
            while let Some(at) = safe.find("\u{1b}[") {
                let length = colour(&safe[at..]);
                prop_assert!(length.is_some(), "{:?}", safe);
                safe.replace_range(at..at + length.unwrap_or_default(), "");
            }
            prop_assert!(!safe.contains(|c| !"\n\t".contains(c) && is_unsafe(c)), "{:?}", safe);
        }

        #[test]
        fn json_keeps_its_meaning_without_unsafe_characters(text in hostile()) {
            // As serde_json writes it.
            let document: String = text.chars().map(|character| match character {
                '"' | '\\' => format!("\\{character}"),
                c if u32::from(c) < 0x20 => format!("\\u{:04x}", u32::from(c)),
                c => c.to_string(),
            }).collect();
            let safe = json(&format!("\"{document}\""));
            prop_assert!(!safe.contains(is_unsafe), "{:?}", safe);
            prop_assert_eq!(unescape(&safe), text);
        }
    }
    /// Text with many characters that terminals interpret.
    fn hostile() -> impl Strategy<Value = String> {
        let parts = prop_oneof![
            "[a-z\"\\\\]{0,3}",
            Just("\u{1b}[".to_owned()),
            Just("\u{9b}2J".to_owned()),
            Just("0;1m".to_owned()),
            prop::char::range('\u{0}', '\u{a0}').prop_map(String::from),
            prop::char::range('\u{2020}', '\u{2070}').prop_map(String::from),
        ];
        prop::collection::vec(parts, 0..20).prop_map(|parts| parts.concat())
    }

    fn unescape(json: &str) -> String {
        let mut text = String::new();
        let mut characters = json[1..json.len() - 1].chars();
        while let Some(character) = characters.next() {
            text.push(match character {
                '\\' => match characters.next() {
                    Some('u') => {
                        let digits: String = characters.by_ref().take(4).collect();
                        char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap()
                    }
                    other => other.unwrap(),
                },
                other => other,
            });
        }
        text
    }
}
