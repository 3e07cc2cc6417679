//! The result of `prune`.

use schedkit_core::sanitize::brief;
use serde::Serialize;

use super::document::Document;
use super::images::{ImageDocument, size};
use crate::runtimes::driver_name;
use crate::stored_images::RuntimeImage;

#[derive(Debug, Serialize)]
pub(crate) struct PruneResult {
    result: PruneOutcome,
    images: Vec<ImageDocument>,
    /// Layers that images share are counted for each.
    freed_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum PruneOutcome {
    Planned,
    Removed,
    /// With an error that names the others.
    Incomplete,
}

impl PruneResult {
    pub(crate) fn planned(images: &[RuntimeImage]) -> Self {
        Self::new(PruneOutcome::Planned, images)
    }

    pub(crate) fn removed(images: &[RuntimeImage]) -> Self {
        Self::new(PruneOutcome::Removed, images)
    }

    pub(crate) fn incomplete(images: &[RuntimeImage]) -> Self {
        Self::new(PruneOutcome::Incomplete, images)
    }

    fn new(result: PruneOutcome, images: &[RuntimeImage]) -> Self {
        let images: Vec<ImageDocument> = images.iter().map(Into::into).collect();
        let sizes = images.iter().filter_map(|image| image.size);
        Self {
            result,
            freed_bytes: sizes.fold(0, u64::saturating_add),
            images,
        }
    }
}

impl Document for PruneResult {
    fn text(&self) -> String {
        let (each, all) = match self.result {
            PruneOutcome::Incomplete if self.images.is_empty() => return String::new(),
            _ if self.images.is_empty() => return "No image of schedctl is unused\n".to_owned(),
            PruneOutcome::Planned => ("Would remove", "Would free"),
            PruneOutcome::Removed | PruneOutcome::Incomplete => ("Removed", "Freed"),
        };
        let line = |image: &ImageDocument| {
            let reference = image
                .reference
                .as_deref()
                .unwrap_or("an image without a name");
            let size = image.size.map_or("unknown size".to_owned(), size);
            let driver = driver_name(image.driver);
            format!("{each} {} ({driver}, {size})\n", brief(reference))
        };
        let lines: String = self.images.iter().map(line).collect();
        format!("{lines}{all} up to {}\n", size(self.freed_bytes))
    }
}

#[cfg(test)]
mod tests {
    use schedkit_runtime::driver::Runtime;

    use super::super::document::{checked_json, plain_text};
    use super::*;
    use crate::fixtures::runtime_image;

    #[test]
    fn each_image_and_the_sum_are_named() {
        let images = [
            runtime_image(Runtime::Podman, "a.example/one"),
            runtime_image(Runtime::Containerd, "a.example/two"),
        ];
        let planned = plain_text(&PruneResult::planned(&images));
        assert!(
            planned.starts_with("Would remove a.example/one@sha256:0"),
            "{planned}"
        );
        let removed = PruneResult::removed(&images);
        let text = plain_text(&removed);
        assert!(text.contains("(containerd, 12.3 MB)\n"), "{text}");
        assert!(text.ends_with("Freed up to 24.6 MB\n"), "{text}");
        assert_eq!(checked_json("prune", &removed)["result"], "removed");
        assert_eq!(plain_text(&PruneResult::incomplete(&images)), text);
        assert_eq!(plain_text(&PruneResult::incomplete(&[])), "");
        let none = PruneResult::removed(&[]);
        assert_eq!(plain_text(&none), "No image of schedctl is unused\n");
    }
}
