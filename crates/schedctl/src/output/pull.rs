//! The result of `pull`.

use schedkit_image::catalog::Resolution;
use schedkit_image::signature::Trusted;
use schedkit_runtime::Pulled;
use serde::Serialize;

use super::document::Document;
use super::trust_basis::TrustBasis;

#[derive(Debug, Serialize)]
pub(crate) struct PullResult {
    result: &'static str,
    scheduler: String,
    image: String,
    #[serde(flatten)]
    trust: TrustBasis,
}

impl PullResult {
    pub(crate) fn new(found: &Resolution, trusted: &Trusted, pulled: Pulled) -> Self {
        Self {
            result: match pulled {
                Pulled::Cached => "cached",
                Pulled::Fetched => "pulled",
            },
            scheduler: found.scheduler().to_owned(),
            image: trusted.image().to_string(),
            trust: trusted.into(),
        }
    }
}

impl Document for PullResult {
    fn text(&self) -> String {
        let result = match self.result {
            "cached" => "was pulled already",
            _ => "was pulled",
        };
        format!("{} {result}, {}\n", self.image, self.trust)
    }
}
