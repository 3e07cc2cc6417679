//! The labels that scheduler images carry.

use std::collections::BTreeMap;

/// The first kernel series with sched_ext.
const MIN_KERNEL: &str = "6.12";

/// A fixed date, so that the same input gives the same digest.
const CREATED: &str = "2026-11-15T00:00:00Z";

pub(super) struct ImageLabels<'a> {
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    pub(super) version: &'a str,
    pub(super) revision: &'a str,
    pub(super) licenses: &'a str,
    pub(super) authors: &'a str,
    pub(super) vendor: &'a str,
    pub(super) source: &'a str,
    pub(super) documentation: &'a str,
}

impl ImageLabels<'_> {
    pub(super) fn to_map(&self) -> BTreeMap<String, String> {
        let Self {
            title,
            description,
            version,
            revision,
            licenses,
            authors,
            vendor,
            source,
            documentation,
        } = *self;
        let common = [
            ("title", title),
            ("description", description),
            ("version", version),
            ("revision", revision),
            ("licenses", licenses),
            ("authors", authors),
            ("vendor", vendor),
            ("source", source),
            ("documentation", documentation),
            ("created", CREATED),
        ]
        .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()));
        let min_kernel = "org.schedkit.scheduler.kernel.min-version";
        common
            .into_iter()
            .chain([(min_kernel.to_owned(), MIN_KERNEL.to_owned())])
            .collect()
    }
}
