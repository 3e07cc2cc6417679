//! The catalog: short names of schedulers and their images.
//!
//! ```text
//! text ──▶ a name of the catalog ──▶ its image
//!     └──▶ a reference with a host ──▶ itself
//!     └──▶ neither: an error with suggestions
//! ```
//!
//! schedctl calls [`Catalog::resolve`]; [`source`] gets the catalog's text. A catalog decides
//! nothing about trust: the policy decides whose signature an image needs, whatever name led to it.
//! The catalog decides only which image a name means, and the published one not even that: the
//! program has its images pinned. An image whose title is another name is refused later, by
//! `signature`.

mod cache;
mod download;
mod name;
mod parse;
mod pinned;
mod resolve;
pub mod source;
mod suggest;

pub use cache::Cache;
pub use download::{CatalogUrl, DownloadError, UrlError};
pub use name::{NameError, SchedulerName};
pub use parse::CatalogError;
pub use pinned::NotPinned;
pub use resolve::{Catalog, Resolution, ResolveError};
pub use source::{
    FallbackWarning, Loaded, Location, Origin, Source, SourceError, load, load_stored,
};

#[cfg(test)]
mod tests;
