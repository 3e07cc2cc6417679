//! The value of `/sys/kernel/sched_ext/state`.

use schedkit_core::sanitize;
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedExtState {
    /// No scheduler is attached.
    Disabled,
    /// A scheduler is being prepared (only kernel 6.12 has this state).
    Prepping,
    /// A scheduler is being attached.
    Enabling,
    /// A scheduler is attached.
    Enabled,
    /// A scheduler is being detached.
    Disabling,
    /// A value that is not in this list; shortened and printable.
    Unknown(String),
}

impl SchedExtState {
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "disabled" => Self::Disabled,
            "prepping" => Self::Prepping,
            "enabling" => Self::Enabling,
            "enabled" => Self::Enabled,
            "disabling" => Self::Disabling,
            other => Self::Unknown(sanitize::brief(other)),
        }
    }

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

    /// Whether a scheduler is being attached or detached.
    pub fn is_transitional(&self) -> bool {
        match self {
            Self::Prepping | Self::Enabling | Self::Disabling => true,
            Self::Disabled | Self::Enabled | Self::Unknown(_) => false,
        }
    }
}

impl Serialize for SchedExtState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_values_of_the_kernel_are_known() {
        for (text, state, moving) in [
            ("disabled\n", SchedExtState::Disabled, false),
            ("prepping\n", SchedExtState::Prepping, true),
            ("enabling\n", SchedExtState::Enabling, true),
            ("enabled\n", SchedExtState::Enabled, false),
            ("disabling\n", SchedExtState::Disabling, true),
            (
                "bypassing\n",
                SchedExtState::Unknown("bypassing".to_owned()),
                false,
            ),
            ("", SchedExtState::Unknown(String::new()), false),
        ] {
            assert_eq!(SchedExtState::parse(text), state);
            assert_eq!(state.is_transitional(), moving, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_a_state_and_keeps_its_text(text in "\\PC{0,60}") {
            let state = SchedExtState::parse(&text);
            prop_assert_eq!(SchedExtState::parse(state.as_str()), state.clone());
        }
    }
}
