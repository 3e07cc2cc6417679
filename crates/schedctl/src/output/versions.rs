//! The versions of a scheduler, as `schedctl versions` prints them.

use schedkit_core::Tag;
use schedkit_image::catalog::Resolution;
use serde::Serialize;

use super::document::Document;
use super::image_source::ImageSource;

#[derive(Serialize)]
pub(crate) struct VersionList {
    scheduler: String,
    source: ImageSource,
    repository: String,
    versions: Vec<String>,
}

impl VersionList {
    pub(crate) fn new(found: &Resolution, tags: &[Tag]) -> Self {
        Self {
            scheduler: found.scheduler().to_owned(),
            source: found.into(),
            repository: found.image().repository().to_string(),
            versions: tags.iter().map(Tag::to_string).collect(),
        }
    }
}

impl Document for VersionList {
    fn text(&self) -> String {
        let versions = self.versions.iter();
        versions.map(|version| format!("{version}\n")).collect()
    }
}
