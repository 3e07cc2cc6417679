//! Tests of image descriptions, on a registry that is a map.

use std::collections::HashMap;

use bytes::Bytes;
use schedkit_core::{Repository, Tag};

use super::*;
use crate::hash::sha256;
use crate::registry::Document;

/// Content by digest; the tag `latest` is what was put last.
#[derive(Default)]
struct Shelf {
    content: HashMap<Digest, Bytes>,
    last: Option<Digest>,
}

impl Shelf {
    fn put(&mut self, text: String) -> String {
        let digest = sha256(text.as_bytes());
        self.content.insert(digest.clone(), text.into());
        self.last = Some(digest.clone());
        digest.to_string()
    }

    fn image(&mut self, config: &str, annotations: &str) -> String {
        let size = config.len();
        let config = self.put(config.to_owned());
        self.put(format!(
            r#"{{"config": {{"digest": "{config}", "size": {size}}}, "annotations": {{{annotations}}}}}"#
        ))
    }

    fn index(&mut self, entries: &[(&str, &str, &str)], annotations: &str) -> String {
        let entry = |(os, architecture, digest): &(&str, &str, &str)| {
            format!(
                r#"{{"digest": "{digest}", "size": 1, "platform": {{"os": "{os}", "architecture": "{architecture}"}}}}"#
            )
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        self.put(format!(
            r#"{{"manifests": [{}], "annotations": {{{annotations}}}}}"#,
            entries.join(",")
        ))
    }

    fn get(&self, digest: &Digest) -> Result<Bytes, RegistryError> {
        let what = digest.to_string();
        let found = self.content.get(digest).cloned();
        found.ok_or(RegistryError::NotFound { what })
    }

    fn info(&self) -> Result<Info, InfoError> {
        let machine = Platform {
            os: "linux".to_owned(),
            architecture: "amd64".to_owned(),
            variant: None,
        };
        let image = "registry.example/scx_x".parse().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(info(self, &image, &machine))
    }
}

impl Registry for Shelf {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        let what = image.to_string();
        self.last.clone().ok_or(RegistryError::NotFound { what })
    }

    async fn manifest(&self, image: &PinnedRef) -> Result<Document, RegistryError> {
        Ok(Document {
            media_type: String::new(),
            digest: image.digest().clone(),
            bytes: self.get(image.digest())?,
        })
    }

    async fn blob(
        &self,
        _: &Repository,
        blob: &Descriptor,
        limit: usize,
    ) -> Result<Bytes, RegistryError> {
        let bytes = self.get(&blob.digest)?;
        assert!(bytes.len() <= limit);
        Ok(bytes)
    }

    async fn tags(&self, _: &Repository) -> Result<Vec<Tag>, RegistryError> {
        Ok(Vec::new())
    }

    async fn referrers(&self, _: &PinnedRef) -> Result<Vec<Descriptor>, RegistryError> {
        Ok(Vec::new())
    }
}

const CONFIG: &str = r#"{"created": "2026-01-02T03:04:05Z", "architecture": "amd64", "os": "linux",
    "config": {"Labels": {
        "org.opencontainers.image.title": "scx_x",
        "org.opencontainers.image.description": " two\nlines\u001b[2J ",
        "org.opencontainers.image.documentation": "https://d.example",
        "org.opencontainers.image.source": "https://s.example",
        "org.opencontainers.image.version": "1.2",
        "org.opencontainers.image.revision": "abc",
        "org.opencontainers.image.authors": "us",
        "org.opencontainers.image.licenses": "GPL-2.0",
        "org.opencontainers.image.vendor": "",
        "org.schedkit.scheduler.kernel.min-version": "6.12"}}}"#;

#[test]
fn a_plain_image_tells_what_its_labels_say() {
    let mut shelf = Shelf::default();
    let digest = shelf.image(CONFIG, "");
    let info = shelf.info().unwrap();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(info.digest.to_string(), digest);
    assert_eq!(info.platforms, ["linux/amd64"]);
    assert_eq!(info.architecture, text("amd64"));
    assert_eq!(info.os, text("linux"));
    assert_eq!(info.created.unwrap().to_string(), "2026-01-02T03:04:05Z");
    let labels = Labels {
        title: text("scx_x"),
        description: text("two lines�[2J"),
        documentation: text("https://d.example"),
        source_url: text("https://s.example"),
        version: text("1.2"),
        revision: text("abc"),
        authors: text("us"),
        licenses: text("GPL-2.0"),
        vendor: None,
        kernel_min_version: text("6.12"),
    };
    assert_eq!(info.labels, labels);
}

#[test]
fn of_an_index_the_digest_is_its_own_and_the_rest_is_this_machines() {
    let mut shelf = Shelf::default();
    let arm = shelf.image(&CONFIG.replace("amd64", "arm64"), "");
    let amd = shelf.image(CONFIG, "");
    let odd = shelf.image("{}", "");
    let entries = [
        ("unknown", "unknown", odd.as_str()),
        ("windows", "amd64", &odd),
        ("linux", "arm64", &arm),
        ("linux", "amd64", &amd),
    ];
    let digest = shelf.index(&entries, "");
    let info = shelf.info().unwrap();
    assert_eq!(info.digest.to_string(), digest);
    assert_eq!(info.architecture.as_deref(), Some("amd64"));
    let platforms = ["windows/amd64", "linux/arm64", "linux/amd64"];
    assert_eq!(info.platforms, platforms);

    shelf.index(&entries[..3], "");
    let info = shelf.info().unwrap();
    assert_eq!(info.architecture.as_deref(), Some("arm64"));

    shelf.index(&entries[..2], "");
    assert!(matches!(shelf.info(), Err(InfoError::NoLinux { .. })));
}

#[test]
fn annotations_speak_where_labels_are_silent() {
    let mut shelf = Shelf::default();
    let vendor = |name: &str| format!(r#""org.opencontainers.image.vendor": "{name}""#);
    let title = r#""org.opencontainers.image.title": "from the manifest""#;
    let image = shelf.image(CONFIG, title);
    shelf.index(&[("linux", "amd64", &image)], &vendor("index"));
    let labels = shelf.info().unwrap().labels;
    assert_eq!(labels.title.as_deref(), Some("scx_x"));
    assert_eq!(labels.vendor.as_deref(), Some("index"));
    let image = shelf.image(CONFIG, &vendor("manifest"));
    shelf.index(&[("linux", "amd64", &image)], &vendor("index"));
    let labels = shelf.info().unwrap().labels;
    assert_eq!(labels.vendor.as_deref(), Some("manifest"));
}

#[test]
fn what_no_image_looks_like_is_an_error() {
    let mut shelf = Shelf::default();
    assert!(matches!(shelf.info(), Err(InfoError::Registry(_))));
    shelf.image("[]", "");
    assert!(matches!(shelf.info(), Err(InfoError::Config { .. })));
    let inner = shelf.index(&[], "");
    shelf.index(&[("linux", "amd64", &inner)], "");
    assert!(matches!(shelf.info(), Err(InfoError::Nested { .. })));
    shelf.put("{}".to_owned());
    assert!(matches!(shelf.info(), Err(InfoError::Content { .. })));
    shelf.image(r#"{"created": "yesterday", "config": null}"#, "");
    let info = shelf.info().unwrap();
    assert_eq!((info.created, info.platforms), (None, Vec::new()));
}
