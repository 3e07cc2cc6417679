//! Content digests: `sha256:` and 64 hexadecimal digits.
//!
//! Only SHA-256 is accepted. The image specification allows more algorithms, but no registry and no
//! signer in use has anything else.

use std::fmt;
use std::str::FromStr;

const PREFIX: &str = "sha256:";
const HEX_DIGITS: usize = 64;

/// The SHA-256 of some content. Equal digests mean equal content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Another algorithm, or none.
    #[error("a digest begins with \"sha256:\"")]
    Algorithm,
    /// The part behind the algorithm is not what SHA-256 prints.
    #[error("a SHA-256 digest has {HEX_DIGITS} digits of 0-9 and a-f after \"sha256:\"")]
    Hex,
}

impl Digest {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits without the algorithm's name.
    pub fn hex(&self) -> String {
        self.to_string().split_off(PREFIX.len())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix(PREFIX).ok_or(DigestError::Algorithm)?;
        if hex.len() != HEX_DIGITS {
            return Err(DigestError::Hex);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            *byte = hex_value(pair[0])? << 4 | hex_value(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// Accepts lower case only, so that a digest has one spelling.
fn hex_value(digit: u8) -> Result<u8, DigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestError::Hex),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_algorithms_lengths_and_spellings_are_refused() {
        let digits = "0123456789abcdef".repeat(4);
        assert!(format!("sha256:{digits}").parse::<Digest>().is_ok());
        for (text, error) in [
            (format!("sha512:{digits}"), DigestError::Algorithm),
            (digits.clone(), DigestError::Algorithm),
            (format!("sha256:{digits}0"), DigestError::Hex),
            (format!("sha256:{}", &digits[1..]), DigestError::Hex),
            (
                format!("sha256:{}", digits.to_uppercase()),
                DigestError::Hex,
            ),
            (format!("sha256:{}é", &digits[2..]), DigestError::Hex),
        ] {
            assert_eq!(text.parse::<Digest>(), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn display_and_parse_round_trip(bytes: [u8; 32]) {
            let digest = Digest::from_bytes(bytes);
            prop_assert_eq!(digest.to_string().parse(), Ok(digest.clone()));
            prop_assert_eq!(digest.to_string(), format!("sha256:{}", digest.hex()));
        }

        #[test]
        fn parsing_never_panics(text: String) {
            let _ = text.parse::<Digest>();
        }
    }
}
