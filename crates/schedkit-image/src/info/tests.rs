//! Tests of image descriptions, with a registry in memory.

use std::collections::HashMap;

use bytes::Bytes;
use schedkit_core::{Repository, Tag};

use super::*;
use crate::hash::sha256;
use crate::registry::{Document, Problem};

/// Content by digest; the tag `latest` is the content that was added last.
#[derive(Default)]
struct MemoryRegistry {
    content: HashMap<Digest, Bytes>,
    last: Option<Digest>,
}

impl MemoryRegistry {
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
        let found = self.content.get(digest).cloned();
        found.ok_or_else(|| not_found(digest))
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

fn not_found(request: &impl ToString) -> RegistryError {
    RegistryError::new(request.to_string(), "registry.example", Problem::NotFound)
}

impl Registry for MemoryRegistry {
    async fn head(&self, image: &ImageRef) -> Result<Digest, RegistryError> {
        self.last.clone().ok_or_else(|| not_found(image))
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

    fn places(&self, _: &Repository) -> usize {
        1
    }

    async fn referrers_at(
        &self,
        image: &PinnedRef,
        _: usize,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        self.referrers(image).await
    }

    async fn document_at(&self, image: &ImageRef, _: usize) -> Result<Document, RegistryError> {
        self.document(image).await
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
fn the_labels_of_a_plain_image() {
    let mut registry = MemoryRegistry::default();
    let digest = registry.image(CONFIG, "");
    let info = registry.info().unwrap();
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
fn an_image_names_a_program_by_its_entrypoint_or_its_command() {
    for (config, has_entrypoint) in [
        (r#"{"Entrypoint": ["/x"]}"#, true),
        (r#"{"Entrypoint": null, "Cmd": ["/x", ""]}"#, true),
        (r#"{"Entrypoint": [""], "Cmd": []}"#, false),
        ("{}", false),
        ("null", false),
    ] {
        let mut registry = MemoryRegistry::default();
        registry.image(&format!(r#"{{"config": {config}}}"#), "");
        let info = registry.info().unwrap();
        assert_eq!(info.has_entrypoint, has_entrypoint, "{config}");
    }
}

#[test]
fn of_an_index_the_digest_is_the_indexs_and_the_rest_is_this_platforms() {
    let mut registry = MemoryRegistry::default();
    let arm = registry.image(&CONFIG.replace("amd64", "arm64"), "");
    let amd = registry.image(CONFIG, "");
    let odd = registry.image("{}", "");
    let entries = [
        ("unknown", "unknown", odd.as_str()),
        ("windows", "amd64", &odd),
        ("linux", "arm64", &arm),
        ("linux", "amd64", &amd),
    ];
    let digest = registry.index(&entries, "");
    let info = registry.info().unwrap();
    assert_eq!(info.digest.to_string(), digest);
    assert_eq!(info.architecture.as_deref(), Some("amd64"));
    let platforms = ["windows/amd64", "linux/arm64", "linux/amd64"];
    assert_eq!(info.platforms, platforms);

    registry.index(&entries[..3], "");
    let info = registry.info().unwrap();
    assert_eq!(info.architecture.as_deref(), Some("arm64"));

    registry.index(&entries[..2], "");
    assert!(matches!(registry.info(), Err(InfoError::NoLinux { .. })));
}

#[test]
fn annotations_are_used_where_labels_are_missing() {
    let mut registry = MemoryRegistry::default();
    let vendor = |name: &str| format!(r#""org.opencontainers.image.vendor": "{name}""#);
    let title = r#""org.opencontainers.image.title": "from the manifest""#;
    let image = registry.image(CONFIG, title);
    registry.index(&[("linux", "amd64", &image)], &vendor("index"));
    let labels = registry.info().unwrap().labels;
    assert_eq!(labels.title.as_deref(), Some("scx_x"));
    assert_eq!(labels.vendor.as_deref(), Some("index"));
    let image = registry.image(CONFIG, &vendor("manifest"));
    registry.index(&[("linux", "amd64", &image)], &vendor("index"));
    let labels = registry.info().unwrap().labels;
    assert_eq!(labels.vendor.as_deref(), Some("manifest"));
}

#[test]
fn content_that_is_no_image_is_an_error() {
    let mut registry = MemoryRegistry::default();
    assert!(matches!(registry.info(), Err(InfoError::Registry(_))));
    registry.image("[]", "");
    assert!(matches!(registry.info(), Err(InfoError::Config { .. })));
    let inner = registry.index(&[], "");
    registry.index(&[("linux", "amd64", &inner)], "");
    assert!(matches!(registry.info(), Err(InfoError::Nested { .. })));
    registry.put("{}".to_owned());
    assert!(matches!(registry.info(), Err(InfoError::Content { .. })));
    registry.image(r#"{"created": "yesterday", "config": null}"#, "");
    let info = registry.info().unwrap();
    assert_eq!((info.created, info.platforms), (None, Vec::new()));
}
