//! The versions of a scheduler, as `schedctl versions` prints them.

use schedkit_core::Tag;
use schedkit_image::catalog::Resolution;
use serde::Serialize;

use super::Document;
use super::provenance::FoundIn;

#[derive(Serialize)]
pub(crate) struct Versions {
    scheduler: String,
    source: FoundIn,
    repository: String,
    versions: Vec<String>,
}

impl Versions {
    pub(crate) fn of(found: &Resolution, tags: &[Tag]) -> Self {
        Self {
            scheduler: found.scheduler().to_owned(),
            source: found.into(),
            repository: found.image().repository().to_string(),
            versions: tags.iter().map(Tag::to_string).collect(),
        }
    }
}

impl Document for Versions {
    fn text(&self) -> String {
        let versions = self.versions.iter();
        versions.map(|version| format!("{version}\n")).collect()
    }
}
