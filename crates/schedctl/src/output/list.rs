//! The catalog, as `schedctl list` prints it.

use schedkit_image::catalog::{Loaded, Origin};
use serde::Serialize;

use super::document::Document;

#[derive(Serialize)]
pub(crate) struct CatalogList {
    catalog: CatalogOrigin,
    schedulers: Vec<CatalogEntry>,
}

#[derive(Serialize)]
struct CatalogOrigin {
    origin: &'static str,
    /// A path or a URL; `null` for the copy inside the program.
    location: Option<String>,
}

#[derive(Serialize)]
struct CatalogEntry {
    name: String,
    image: String,
}

impl From<&Loaded> for CatalogList {
    fn from(loaded: &Loaded) -> Self {
        let entry = |(name, image): (&_, &_)| CatalogEntry {
            name: ToString::to_string(name),
            image: ToString::to_string(image),
        };
        Self {
            catalog: CatalogOrigin::from(&loaded.origin),
            schedulers: loaded.catalog.entries().map(entry).collect(),
        }
    }
}

impl From<&Origin> for CatalogOrigin {
    fn from(origin: &Origin) -> Self {
        let (origin, location) = match origin {
            Origin::Location(location) => ("location", Some(location.to_string())),
            Origin::Cache(url) => ("cache", Some(url.to_string())),
            Origin::Snapshot => ("snapshot", None),
        };
        Self { origin, location }
    }
}

impl Document for CatalogList {
    fn text(&self) -> String {
        let names = self.schedulers.iter();
        names
            .map(|scheduler| format!("{}\n", scheduler.name))
            .collect()
    }
}
