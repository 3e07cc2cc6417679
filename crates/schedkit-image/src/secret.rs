//! Words that open doors: passwords and tokens. They are taken in here and shown to nobody but
//! the one they are meant for; a log or an error cannot print them by accident.

use std::fmt;

use serde::{Deserialize, Deserializer};
use zeroize::Zeroize;

/// A password or token. Wiped when dropped, as well as a program can: what a library copied on
/// its way to the network is out of our hands.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// From now on nobody prints it.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        assert_eq!(secret.expose(), "hunter2");
    }
}
