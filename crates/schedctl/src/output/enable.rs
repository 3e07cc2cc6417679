//! The result of `enable` and `disable`.

use schedkit_image::signature::Trusted;
use serde::Serialize;

use super::document::Document;
use super::trust_basis::TrustBasis;

#[derive(Debug, Serialize)]
pub(crate) struct EnableResult {
    result: &'static str,
    scheduler: Option<String>,
    unit: Option<String>,
    /// By digest.
    image: Option<String>,
    #[serde(flatten)]
    trust: TrustBasis,
    disabled: Vec<String>,
    /// Whether units were started or stopped, too.
    now: bool,
}

impl EnableResult {
    pub(crate) fn enabled(
        image: &str,
        unit: String,
        disabled: Vec<String>,
        trusted: &Trusted,
        now: bool,
    ) -> Self {
        Self {
            result: "enabled",
            scheduler: Some(image.to_owned()),
            unit: Some(unit),
            image: Some(trusted.image().to_string()),
            trust: trusted.into(),
            disabled,
            now,
        }
    }

    pub(crate) fn disabled(disabled: Vec<String>, now: bool) -> Self {
        Self {
            result: "disabled",
            scheduler: None,
            unit: None,
            image: None,
            trust: TrustBasis::default(),
            disabled,
            now,
        }
    }
}

impl Document for EnableResult {
    fn text(&self) -> String {
        let now = if self.now { " and stopped" } else { "" };
        let disabled = self.disabled.iter();
        let disabled: String = disabled
            .map(|unit| format!("{unit} is disabled{now}\n"))
            .collect();
        match (&self.scheduler, &self.image) {
            (Some(name), Some(image)) => {
                let start = match self.now {
                    true => "the kernel runs it now".to_owned(),
                    false => format!("`schedctl enable {name} --now` also starts it now"),
                };
                format!(
                    "{disabled}{name} will start at boot as {image}, {}; {start}\n",
                    self.trust
                )
            }
            _ if self.disabled.is_empty() => "No scheduler starts at boot\n".to_owned(),
            _ => disabled,
        }
    }
}
