//! An image's metadata, as `schedctl info` prints it.

use jiff::Timestamp;
use schedkit_image::catalog::Resolution;
use schedkit_image::info::{Info, Labels};
use serde::Serialize;

use super::document::Document;
use super::image_source::ImageSource;
use super::table;

/// Every field is always present; `null` if the image does not have it.
#[derive(Serialize)]
pub(crate) struct ImageInfo<'a> {
    scheduler: &'a str,
    source: ImageSource,
    image_ref: String,
    digest: String,
    created: Option<Timestamp>,
    architecture: Option<&'a str>,
    os: Option<&'a str>,
    #[serde(flatten)]
    labels: &'a Labels,
    platforms: &'a [String],
}

impl<'a> ImageInfo<'a> {
    pub(crate) fn new(found: &'a Resolution, info: &'a Info) -> Self {
        Self {
            scheduler: found.scheduler(),
            source: found.into(),
            image_ref: found.image().to_string(),
            digest: info.digest.to_string(),
            created: info.created,
            architecture: info.architecture.as_deref(),
            os: info.os.as_deref(),
            labels: &info.labels,
            platforms: &info.platforms,
        }
    }
}

impl Document for ImageInfo<'_> {
    fn text(&self) -> String {
        let labels = self.labels;
        let platforms = Some(self.platforms.join(", ")).filter(|text| !text.is_empty());
        let kernel = labels.kernel_min_version.as_ref();
        table::fields(&[
            ("Scheduler", Some(self.scheduler.to_owned())),
            ("Image", Some(self.image_ref.clone())),
            ("Digest", Some(self.digest.clone())),
            ("Title", labels.title.clone()),
            ("Description", labels.description.clone()),
            ("Version", labels.version.clone()),
            ("Revision", labels.revision.clone()),
            ("Created", self.created.map(|time| time.to_string())),
            ("Platforms", platforms),
            (
                "Kernel",
                kernel.map(|version| format!("{version} or later")),
            ),
            ("Source", labels.source_url.clone()),
            ("Documentation", labels.documentation.clone()),
            ("Authors", labels.authors.clone()),
            ("Vendor", labels.vendor.clone()),
            ("Licences", labels.licenses.clone()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use schedkit_image::info::Labels;

    use super::super::document::{checked_json, plain_text};
    use super::*;

    fn resolution() -> Resolution {
        Resolution::Reference("a.example/team/one:1.0".parse().unwrap())
    }

    fn info(title: Option<&str>) -> Info {
        Info {
            digest: format!("sha256:{}", "0".repeat(64)).parse().unwrap(),
            platforms: vec!["linux/amd64".to_owned(), "linux/arm64".to_owned()],
            architecture: Some("amd64".to_owned()),
            os: Some("linux".to_owned()),
            created: None,
            has_entrypoint: true,
            labels: Labels {
                title: title.map(str::to_owned),
                kernel_min_version: Some("6.12".to_owned()),
                ..Labels::default()
            },
        }
    }

    #[test]
    fn the_text_omits_missing_fields() {
        let (found, info) = (resolution(), info(Some("One")));
        let text = plain_text(&ImageInfo::new(&found, &info));
        let zeros = "0".repeat(64);
        let expected = format!(
            "Scheduler:  one\nImage:      a.example/team/one:1.0\nDigest:     sha256:{zeros}\nTitle:      One\n\
             Platforms:  linux/amd64, linux/arm64\nKernel:     6.12 or later\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn every_json_field_is_always_present() {
        let (found, info) = (resolution(), info(None));
        let json = checked_json("info", &ImageInfo::new(&found, &info));
        let fields = "scheduler source image_ref digest created architecture os title description \
            documentation source_url version revision authors licenses vendor kernel_min_version";
        for field in fields.split_whitespace() {
            assert!(json.get(field).is_some(), "{field}");
        }
        assert_eq!(json["title"], serde_json::Value::Null);
        assert_eq!(json["source"], "reference");
    }
}
