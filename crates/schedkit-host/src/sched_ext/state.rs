//! The kernel's word for where sched_ext is between off and on.

use schedkit_core::foreign;
use serde::{Serialize, Serializer};

/// What `state` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing attached.
    Disabled,
    /// A scheduler is getting ready (kernel 6.12).
    Prepping,
    /// A scheduler is taking over.
    Enabling,
    /// A scheduler is attached.
    Enabled,
    /// A scheduler is on its way out.
    Disabling,
    /// A word that we do not know, brief and printable.
    Unknown(String),
}

impl State {
    /// Whatever the file holds.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "disabled" => Self::Disabled,
            "prepping" => Self::Prepping,
            "enabling" => Self::Enabling,
            "enabled" => Self::Enabled,
            "disabling" => Self::Disabling,
            other => Self::Unknown(foreign::brief(other)),
        }
    }

    /// The kernel's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Disabled => "disabled",
            Self::Prepping => "prepping",
            Self::Enabling => "enabling",
            Self::Enabled => "enabled",
            Self::Disabling => "disabling",
            Self::Unknown(text) => text,
        }
    }

    /// Whether it passes by itself.
    pub fn is_in_motion(&self) -> bool {
        match self {
            Self::Prepping | Self::Enabling | Self::Disabling => true,
            Self::Disabled | Self::Enabled | Self::Unknown(_) => false,
        }
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_kernels_words_are_known() {
        for (text, state, moving) in [
            ("disabled\n", State::Disabled, false),
            ("prepping\n", State::Prepping, true),
            ("enabling\n", State::Enabling, true),
            ("enabled\n", State::Enabled, false),
            ("disabling\n", State::Disabling, true),
            ("bypassing\n", State::Unknown("bypassing".to_owned()), false),
            ("", State::Unknown(String::new()), false),
        ] {
            assert_eq!(State::parse(text), state);
            assert_eq!(state.is_in_motion(), moving, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_a_state_and_says_itself(text in "\\PC{0,60}") {
            let state = State::parse(&text);
            prop_assert_eq!(State::parse(state.as_str()), state.clone());
        }
    }
}
