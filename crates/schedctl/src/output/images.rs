//! The images of schedulers, as `schedctl images` prints them.

use jiff::Timestamp;
use schedkit_core::sanitize::brief;
use schedkit_runtime::ImageEntry;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::document::Document;
use super::table;
use crate::runtimes::driver_name;
use crate::stored_images::{ImageOrigin, RuntimeImage};

/// As much of a digest as tells images apart.
const SHORT_DIGEST: usize = 12;

#[derive(Debug, Serialize)]
pub(crate) struct ImageList {
    images: Vec<ImageDocument>,
}

#[derive(Debug, Serialize)]
pub(super) struct ImageDocument {
    /// `null` if it has lost its names.
    pub(super) reference: Option<String>,
    digest: Option<String>,
    id: String,
    pub(super) size: Option<u64>,
    created: Option<Timestamp>,
    in_use: bool,
    /// How many containers use it.
    containers: usize,
    enabled: bool,
    pulled_by_schedctl: bool,
    pub(super) driver: Runtime,
}

impl From<&RuntimeImage> for ImageDocument {
    fn from(image: &RuntimeImage) -> Self {
        let RuntimeImage {
            runtime,
            entry,
            origin,
            enabled,
        } = image;
        let ImageEntry {
            id,
            names,
            digests,
            size,
            created,
            containers,
            owner: _,
        } = entry;
        Self {
            reference: names.first().cloned(),
            digest: digests.first().cloned(),
            id: id.clone(),
            size: *size,
            created: *created,
            in_use: *containers > 0,
            containers: *containers,
            enabled: *enabled,
            pulled_by_schedctl: *origin == ImageOrigin::Pulled,
            driver: *runtime,
        }
    }
}

impl From<&[RuntimeImage]> for ImageList {
    fn from(images: &[RuntimeImage]) -> Self {
        let images = images.iter().map(Into::into).collect();
        Self { images }
    }
}

impl ImageDocument {
    /// Without the digest, which has its own column.
    fn name(&self) -> String {
        let reference = self.reference.as_deref().unwrap_or("-");
        brief(reference.split('@').next().unwrap_or(reference))
    }

    fn short_digest(&self) -> String {
        let digest = self.digest.as_deref().unwrap_or("-");
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        brief(&hex.chars().take(SHORT_DIGEST).collect::<String>())
    }

    fn usage(&self) -> &'static str {
        match (self.in_use, self.enabled) {
            (true, _) => "yes",
            (false, true) => "at boot",
            (false, false) => "no",
        }
    }
}

impl Document for ImageList {
    fn text(&self) -> String {
        let row = |image: &ImageDocument| {
            [
                image.name(),
                image.short_digest(),
                image.size.map_or("-".to_owned(), size),
                image
                    .created
                    .map_or("-".to_owned(), |time| format!("{time:.0}")),
                image.usage().to_owned(),
                driver_name(image.driver).to_owned(),
            ]
        };
        let heading = ["REFERENCE", "DIGEST", "SIZE", "CREATED", "IN USE", "DRIVER"];
        table::columns(heading, self.images.iter().map(row))
    }
}

/// `12.3 MB`.
pub(super) fn size(bytes: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{checked_json, plain_text};
    use super::*;
    use crate::fixtures::runtime_image;

    #[test]
    fn images_are_a_table_and_a_document() {
        let mut unused = runtime_image(Runtime::Containerd, "b.example/two\u{1b}");
        unused.entry.containers = 0;
        unused.entry.size = None;
        let images = [runtime_image(Runtime::Podman, "a.example/one"), unused];
        let list = ImageList::from(&images[..]);
        assert_eq!(
            plain_text(&list),
            "REFERENCE       DIGEST        SIZE     CREATED               IN USE  DRIVER\n\
             a.example/one   000000000000  12.3 MB  2026-01-02T03:04:05Z  yes     podman\n\
             b.example/two\u{fffd}  000000000000  -        2026-01-02T03:04:05Z  no      containerd\n"
        );
        let json = checked_json("images", &list);
        assert_eq!(json["images"][0]["in_use"], true);
        assert_eq!(json["images"][1]["size"], serde_json::Value::Null);
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (2_000_000_000, "2.0 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
