//! Normalizes resource quantities: the API server stores `1000m` as `1` and rounds up to
//! thousandths, so strings cannot be compared.

use std::borrow::Cow;

/// The largest quantity that the API server stores, in thousandths.
const LARGEST: i128 = i64::MAX as i128 * 1000;

/// The quantity in thousandths; a text that is no quantity is returned unchanged.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    match thousandths(text) {
        Some(amount) => Cow::Owned(amount.to_string()),
        None => Cow::Borrowed(text),
    }
}

fn thousandths(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || whole.len() + fraction.len() > 24 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 3 - i32::try_from(fraction.len()).ok()?;
    let amount = match suffix_of(suffix)? {
        Suffix::Ten(exponent) => scaled(digits, scale + exponent),
        Suffix::Two(exponent) => scaled(digits.saturating_mul(1 << exponent), scale),
    };
    let amount = amount.min(LARGEST);
    Some(if negative { -amount } else { amount })
}

enum Suffix {
    Ten(i32),
    Two(u32),
}

fn suffix_of(suffix: &str) -> Option<Suffix> {
    Some(match suffix {
        "" => Suffix::Ten(0),
        "n" => Suffix::Ten(-9),
        "u" => Suffix::Ten(-6),
        "m" => Suffix::Ten(-3),
        "k" => Suffix::Ten(3),
        "M" => Suffix::Ten(6),
        "G" => Suffix::Ten(9),
        "T" => Suffix::Ten(12),
        "P" => Suffix::Ten(15),
        "E" => Suffix::Ten(18),
        "Ki" => Suffix::Two(10),
        "Mi" => Suffix::Two(20),
        "Gi" => Suffix::Two(30),
        "Ti" => Suffix::Two(40),
        "Pi" => Suffix::Two(50),
        "Ei" => Suffix::Two(60),
        exponent => {
            let exponent: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            Suffix::Ten(exponent.clamp(-60, 60))
        }
    })
}

/// Multiplies with a power of ten and rounds away from zero.
fn scaled(digits: i128, exponent: i32) -> i128 {
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    match (exponent < 0, power) {
        (false, Some(power)) => digits.saturating_mul(power),
        (false, None) => digits.saturating_mul(i128::MAX),
        (true, Some(power)) => digits / power + i128::from(digits % power != 0),
        (true, None) => i128::from(digits != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_amount_reads_alike_however_it_is_written() {
        for (one, other) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1e3", "1k"),
            ("1.5Gi", "1536Mi"),
            ("100u", "1m"),
            ("0.0001", "1m"),
            ("1E3", "1000"),
            (".5", "0.500"),
            ("+2", "2"),
            ("99999999999E", "99999999998E"),
        ] {
            assert_eq!(normal(one), normal(other), "{one} {other}");
        }
        assert_ne!(normal("1"), normal("2"));
        assert_ne!(normal("1Mi"), normal("1M"));
        for text in ["", ".", "abc", "1x", "1.2.3", "1e", "--1"] {
            assert_eq!(normal(text), text);
        }
    }
}
