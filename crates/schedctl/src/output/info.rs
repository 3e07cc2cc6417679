//! What an image says about itself, as `schedctl info` prints it.

use schedkit_image::catalog::Resolution;
use schedkit_image::info::{Info, Labels};
use serde::Serialize;

use super::provenance::FoundIn;
use super::{Document, table};

/// Every field is always there, `null` when the image is silent.
#[derive(Serialize)]
pub(crate) struct Description {
    scheduler: String,
    source: FoundIn,
    image_ref: String,
    digest: String,
    created: Option<String>,
    architecture: Option<String>,
    os: Option<String>,
    title: Option<String>,
    description: Option<String>,
    documentation: Option<String>,
    source_url: Option<String>,
    version: Option<String>,
    revision: Option<String>,
    authors: Option<String>,
    licenses: Option<String>,
    vendor: Option<String>,
    kernel_min_version: Option<String>,
    platforms: Vec<String>,
}

impl Description {
    pub(crate) fn of(found: &Resolution, info: &Info) -> Self {
        let Info {
            digest,
            platforms,
            architecture,
            os,
            created,
            labels,
        } = info.clone();
        let Labels {
            title,
            description,
            documentation,
            source_url,
            version,
            revision,
            authors,
            licenses,
            vendor,
            kernel_min_version,
        } = labels;
        Self {
            scheduler: found.scheduler().to_owned(),
            source: found.into(),
            image_ref: found.image().to_string(),
            digest: digest.to_string(),
            created: created.map(|time| time.to_string()),
            architecture,
            os,
            title,
            description,
            documentation,
            source_url,
            version,
            revision,
            authors,
            licenses,
            vendor,
            kernel_min_version,
            platforms,
        }
    }
}

impl Document for Description {
    fn text(&self) -> String {
        let platforms = Some(self.platforms.join(", ")).filter(|text| !text.is_empty());
        table::fields(&[
            ("Scheduler", Some(self.scheduler.clone())),
            ("Image", Some(self.image_ref.clone())),
            ("Digest", Some(self.digest.clone())),
            ("Title", self.title.clone()),
            ("Description", self.description.clone()),
            ("Version", self.version.clone()),
            ("Revision", self.revision.clone()),
            ("Created", self.created.clone()),
            ("Platforms", platforms),
            (
                "Kernel",
                self.kernel_min_version
                    .as_ref()
                    .map(|version| format!("{version} or later")),
            ),
            ("Source", self.source_url.clone()),
            ("Documentation", self.documentation.clone()),
            ("Authors", self.authors.clone()),
            ("Vendor", self.vendor.clone()),
            ("Licences", self.licenses.clone()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(title: Option<&str>) -> Description {
        let found = Resolution::Reference("a.example/team/one:1.0".parse().unwrap());
        let info = Info {
            digest: format!("sha256:{}", "0".repeat(64)).parse().unwrap(),
            platforms: vec!["linux/amd64".to_owned(), "linux/arm64".to_owned()],
            architecture: Some("amd64".to_owned()),
            os: Some("linux".to_owned()),
            created: None,
            labels: Labels {
                title: title.map(str::to_owned),
                kernel_min_version: Some("6.12".to_owned()),
                ..Labels::default()
            },
        };
        Description::of(&found, &info)
    }

    #[test]
    fn a_person_reads_what_there_is() {
        let text = description(Some("One")).text();
        let text = anstream::adapter::strip_str(&text).to_string();
        let zeros = "0".repeat(64);
        let expected = format!(
            "Scheduler:  one\nImage:      a.example/team/one:1.0\nDigest:     sha256:{zeros}\nTitle:      One\n\
             Platforms:  linux/amd64, linux/arm64\nKernel:     6.12 or later\n"
        );
        assert_eq!(text, expected);
    }

    /// The names that programs rely on, each always there.
    #[test]
    fn a_program_finds_every_field() {
        let json = serde_json::to_value(description(None)).unwrap();
        let fields = "scheduler source image_ref digest created architecture os title description \
            documentation source_url version revision authors licenses vendor kernel_min_version";
        for field in fields.split_whitespace() {
            assert!(json.get(field).is_some(), "{field}");
        }
        assert_eq!(json["title"], serde_json::Value::Null);
        assert_eq!(json["source"], "reference");
    }
}
