//! The files of a TUF repository that lead from the anchor to the trusted root. As they were
//! downloaded: their signatures and hashes are about the bytes.

use serde::{Deserialize, Serialize};
use sigstore_tuf::transport::FetchFuture;
use sigstore_tuf::{Error, MemoryStore, Metadata, MetadataStore, Repository, Root};

use super::anchor::{Anchor, check_keys};
use super::fault::{MAX_ROOTS, TufFault};

/// The file whose newest version all this is about.
pub(super) const TARGET: &str = "trusted_root.json";
const TIMESTAMP: &str = "timestamp.json";
const SNAPSHOT: &str = "snapshot.json";
const TARGETS: &str = "targets.json";
const ROOT_SUFFIX: &str = ".root.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TufFiles {
    /// After the anchor, ascending.
    roots: Vec<String>,
    timestamp: String,
    snapshot: String,
    targets: String,
    pub(super) trusted_root: String,
}

/// A repository that has been downloaded.
pub(super) struct StoredRepository {
    files: TufFiles,
    /// The version of the first of its roots.
    first_root: u64,
}

impl TufFiles {
    /// For the library, which takes what it finds there as the lowest that it accepts.
    pub(super) fn store(&self, anchor: &Anchor) -> Result<MemoryStore, TufFault> {
        let store = MemoryStore::new();
        for (version, root) in (anchor.version() + 1..).zip(&self.roots) {
            store.store(&stored_root(version), root.as_bytes())?;
        }
        store.store(TIMESTAMP, self.timestamp.as_bytes())?;
        store.store(SNAPSHOT, self.snapshot.as_bytes())?;
        store.store(TARGETS, self.targets.as_bytes())?;
        store.store(&format!("targets/{TARGET}"), self.trusted_root.as_bytes())?;
        Ok(store)
    }

    /// What the library has verified and stored.
    pub(super) fn verified(
        store: &MemoryStore,
        anchor: &Anchor,
        newest_root: u64,
        trusted_root: Vec<u8>,
    ) -> Result<Self, TufFault> {
        let load = |name: &str| {
            let missing = || TufFault::invalid(&format!("{name} is missing"));
            text(store.load(name)?.ok_or_else(missing)?)
        };
        let versions = anchor.version() + 1..=newest_root;
        if versions.clone().count() > MAX_ROOTS {
            return Err(TufFault::TooManyRoots);
        }
        let roots = versions.map(|version| load(&stored_root(version)));
        let roots = roots.collect::<Result<Vec<String>, _>>()?;
        for root in &roots {
            check_keys(Metadata::<Root>::from_slice(root.as_bytes())?.signed())?;
        }
        Ok(Self {
            roots,
            timestamp: load(TIMESTAMP)?,
            snapshot: load(SNAPSHOT)?,
            targets: load(TARGETS)?,
            trusted_root: text(trusted_root)?,
        })
    }
}

impl StoredRepository {
    pub(super) fn new(files: TufFiles, anchor: &Anchor) -> Self {
        let first_root = anchor.version() + 1;
        Self { files, first_root }
    }

    fn metadata(&self, name: &str) -> Option<&String> {
        if let Some(version) = name.strip_suffix(ROOT_SUFFIX) {
            let version: u64 = version.parse().ok()?;
            let position = usize::try_from(version.checked_sub(self.first_root)?).ok()?;
            return self.files.roots.get(position);
        }
        // Snapshot and targets may have their version before the name.
        match name {
            TIMESTAMP => Some(&self.files.timestamp),
            _ if name.ends_with(SNAPSHOT) => Some(&self.files.snapshot),
            _ if name.ends_with(TARGETS) => Some(&self.files.targets),
            _ => None,
        }
    }
}

impl Repository for StoredRepository {
    fn fetch_metadata<'a>(&'a self, name: &'a str, max_length: u64) -> FetchFuture<'a> {
        let found = at_most(self.metadata(name), max_length);
        Box::pin(async move { found })
    }

    fn fetch_target<'a>(&'a self, _path: &'a str, max_length: u64) -> FetchFuture<'a> {
        let found = at_most(Some(&self.files.trusted_root), max_length);
        Box::pin(async move { found })
    }
}

fn at_most(file: Option<&String>, max_length: u64) -> Result<Option<Vec<u8>>, Error> {
    match file {
        Some(text) if text.len() as u64 > max_length => {
            Err(Error::Malformed("a file is too big".to_owned()))
        }
        file => Ok(file.map(|text| text.clone().into_bytes())),
    }
}

fn stored_root(version: u64) -> String {
    format!("root_history/{version}{ROOT_SUFFIX}")
}

fn text(bytes: Vec<u8>) -> Result<String, TufFault> {
    String::from_utf8(bytes).map_err(|_| TufFault::invalid("a file is not UTF-8 text"))
}
