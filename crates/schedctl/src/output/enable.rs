//! The result of `enable` and `disable`.

use serde::Serialize;

use super::document::Document;

#[derive(Debug, Serialize)]
pub(crate) struct EnableResult {
    result: &'static str,
    scheduler: Option<String>,
    unit: Option<String>,
    disabled: Vec<String>,
}

impl EnableResult {
    pub(crate) fn enabled(image: &str, unit: String, disabled: Vec<String>) -> Self {
        Self {
            result: "enabled",
            scheduler: Some(image.to_owned()),
            unit: Some(unit),
            disabled,
        }
    }

    pub(crate) fn disabled(disabled: Vec<String>) -> Self {
        Self {
            result: "disabled",
            scheduler: None,
            unit: None,
            disabled,
        }
    }
}

impl Document for EnableResult {
    fn text(&self) -> String {
        let disabled = self.disabled.iter();
        let disabled: String = disabled
            .map(|unit| format!("{unit} is disabled\n"))
            .collect();
        match &self.scheduler {
            Some(image) => format!(
                "{disabled}{image} will start at boot; `schedctl run {image}` starts it now\n"
            ),
            None if self.disabled.is_empty() => "No scheduler starts at boot\n".to_owned(),
            None => disabled,
        }
    }
}
