//! The catalog's names, as `schedctl list` prints them.

use schedkit_image::catalog::{Loaded, Origin};
use serde::Serialize;

use super::Document;

#[derive(Serialize)]
pub(crate) struct List {
    catalog: Catalog,
    schedulers: Vec<Scheduler>,
}

/// Where the names come from.
#[derive(Serialize)]
struct Catalog {
    origin: &'static str,
    /// A path or an address; nothing for the one inside the program.
    location: Option<String>,
}

#[derive(Serialize)]
struct Scheduler {
    name: String,
    image: String,
}

impl List {
    pub(crate) fn of(loaded: &Loaded) -> Self {
        let scheduler = |(name, image): (&_, &_)| Scheduler {
            name: ToString::to_string(name),
            image: ToString::to_string(image),
        };
        Self {
            catalog: Catalog::from(&loaded.origin),
            schedulers: loaded.catalog.entries().map(scheduler).collect(),
        }
    }
}

impl From<&Origin> for Catalog {
    fn from(origin: &Origin) -> Self {
        let (origin, location) = match origin {
            Origin::Location(location) => ("location", Some(location.to_string())),
            Origin::Cache(url) => ("cache", Some(url.to_string())),
            Origin::Snapshot => ("snapshot", None),
        };
        Self { origin, location }
    }
}

impl Document for List {
    fn text(&self) -> String {
        let names = self.schedulers.iter();
        names
            .map(|scheduler| format!("{}\n", scheduler.name))
            .collect()
    }
}
