//! What `pull` prints.

use schedkit_image::catalog::Resolution;
use schedkit_image::signature::Trusted;
use schedkit_runtime::Pulled;
use serde::Serialize;

use super::Document;
use super::started::Vouched;

/// An image that is here.
#[derive(Debug, Serialize)]
pub(crate) struct PulledImage {
    result: &'static str,
    scheduler: String,
    image: String,
    #[serde(flatten)]
    vouched: Vouched,
}

impl PulledImage {
    pub(crate) fn of(found: &Resolution, trusted: &Trusted, pulled: Pulled) -> Self {
        Self {
            result: match pulled {
                Pulled::Cached => "cached",
                Pulled::Fetched => "pulled",
            },
            scheduler: found.scheduler().to_owned(),
            image: trusted.image().to_string(),
            vouched: Vouched::of(trusted),
        }
    }
}

impl Document for PulledImage {
    fn text(&self) -> String {
        let word = match self.result {
            "cached" => "is here already",
            _ => "is here",
        };
        format!("{} {word}, {}\n", self.image, self.vouched)
    }
}
