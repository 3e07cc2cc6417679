//! What `enable` and `disable` print.

use serde::Serialize;

use super::Document;

/// What starts with the machine.
#[derive(Debug, Serialize)]
pub(crate) struct Enabled {
    result: &'static str,
    scheduler: Option<String>,
    unit: Option<String>,
    disabled: Vec<String>,
}

impl Enabled {
    pub(crate) fn now(word: &str, unit: String, disabled: Vec<String>) -> Self {
        Self {
            result: "enabled",
            scheduler: Some(word.to_owned()),
            unit: Some(unit),
            disabled,
        }
    }

    pub(crate) fn none(disabled: Vec<String>) -> Self {
        Self {
            result: "disabled",
            scheduler: None,
            unit: None,
            disabled,
        }
    }
}

impl Document for Enabled {
    fn text(&self) -> String {
        let gone = self.disabled.iter();
        let gone: String = gone.map(|unit| format!("{unit} is disabled\n")).collect();
        match &self.scheduler {
            Some(word) => format!(
                "{gone}{word} starts with the machine from now on; `schedctl run {word}` starts it \
                 now\n"
            ),
            None if self.disabled.is_empty() => "No scheduler starts with the machine\n".to_owned(),
            None => gone,
        }
    }
}
