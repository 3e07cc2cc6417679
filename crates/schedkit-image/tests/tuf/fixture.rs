//! A repository in a folder, whoever pins its first root, and what they keep.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use jiff::Timestamp;
use schedkit_image::hash::sha256;
use schedkit_image::registry::{ClientConfig, FileClient};
use schedkit_image::trust::{
    Anchor, KeptRoot, Mirror, RootStore, RootStoreError, TufError, TufFault, refresh,
};
use schedkit_image::untrusted::Reader;
use tempfile::TempDir;
use tuf_maker::{Files, Maker, write};

pub(crate) const ROOT: &str = include_str!("../../src/trust/public_good_root.json");

/// The same root without its newest log.
pub(crate) fn older_root() -> String {
    let mut root: serde_json::Value = serde_json::from_str(ROOT).unwrap();
    root["tlogs"].as_array_mut().unwrap().pop().unwrap();
    root.to_string()
}

pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) maker: Maker,
    pub(crate) anchor: Anchor,
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    at("2026-11-20T00:00:00Z")
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(Maker::generate())
    }

    pub(crate) fn with(maker: Maker) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let anchor = pinned(&folder, maker.anchor()).unwrap();
        Self {
            folder,
            maker,
            anchor,
        }
    }

    /// With what has been released and asked for now.
    pub(crate) async fn refreshed() -> (Self, KeptRoot) {
        let mut fixture = Self::new();
        let files = fixture.maker.release(&older_root());
        let kept = fixture.refresh(&files, None).await.unwrap();
        (fixture, kept)
    }

    pub(crate) async fn refresh(
        &self,
        files: &Files,
        kept: Option<&KeptRoot>,
    ) -> Result<KeptRoot, TufError> {
        self.refresh_at(files, kept, now()).await
    }

    pub(crate) async fn refresh_at(
        &self,
        files: &Files,
        kept: Option<&KeptRoot>,
        now: Timestamp,
    ) -> Result<KeptRoot, TufError> {
        let folder = self.folder.path().join("mirror");
        write(files, &folder);
        let client = FileClient::new(ClientConfig::default());
        refresh(&Mirror::Folder(folder), &client, &self.anchor, kept, now).await
    }

    pub(crate) fn store(&self) -> RootStore {
        let owner = fs::metadata(self.folder.path()).unwrap().uid();
        RootStore::at(self.folder.path().join("state/trust"), owner)
    }

    pub(crate) fn save(&self, kept: &KeptRoot) {
        let store = self.store();
        let lock = store.lock().unwrap();
        store.save(&self.anchor, kept, &lock).unwrap();
    }

    pub(crate) fn load(&self) -> Result<Option<KeptRoot>, RootStoreError> {
        self.store().load(&self.anchor)
    }

    pub(crate) fn stored_file(&self) -> PathBuf {
        let name = format!("state/trust/{}.json", self.anchor.digest().hex());
        self.folder.path().join(name)
    }
}

/// A root that somebody pins.
pub(crate) fn pinned(
    folder: &TempDir,
    root: &[u8],
) -> Result<Anchor, schedkit_image::trust::AnchorError> {
    let path = folder.path().join("root.json");
    fs::write(&path, root).unwrap();
    Anchor::read(&path, &sha256(root), Reader::User)
}

/// The error and its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[track_caller]
pub(crate) fn fault(outcome: Result<KeptRoot, TufError>) -> String {
    match outcome {
        Ok(kept) => panic!("accepted: {kept:?}"),
        Err(error) => {
            assert!(!matches!(error.fault(), TufFault::Timeout(_)));
            chain(&error)
        }
    }
}
