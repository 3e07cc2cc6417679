//! The trusted root from a TUF repository in a folder.

use std::fs;

use jiff::SignedDuration;
use schedkit_image::hash::sha256;
use serde_json::Value;
use tempfile::TempDir;
use tuf_maker::{Files, Maker, write};

use super::super::policy_file::PolicyReader;
use super::*;

const ROOT: &str = include_str!("../../../../../schedkit-image/src/trust/public_good_root.json");
const POLICY: &str = "identities:\n- {issuer: https://issuer.example, subject: me@example.org}\n";

struct World {
    folder: TempDir,
    maker: Maker,
    metrics: Metrics,
}

impl World {
    fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
            maker: Maker::generate(),
            metrics: Metrics::new(),
        };
        fs::write(world.path("root.json"), world.maker.anchor()).unwrap();
        fs::create_dir(world.path("policy")).unwrap();
        fs::write(world.path("policy/policy.yaml"), POLICY).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn publish(&mut self, root: &str) -> Files {
        let files = self.maker.release(root);
        write(&files, &self.path("mirror"));
        files
    }

    /// As after a start of the manager.
    fn root(&self, interval: Option<Duration>) -> TrustRoot {
        let args = TrustRootArgs {
            trust_root_refresh: interval,
            trust_root_mirror: Some(Mirror::Folder(self.path("mirror"))),
            trust_root_cache: Some(self.path("cache")),
            trust_root_tuf: Some(self.path("root.json")),
            trust_root_tuf_sha256: Some(sha256(self.maker.anchor())),
            max_root_age: Some(30 * DAY),
        };
        let settings = TrustRootSettings::new(&args, &Registries::default());
        TrustRoot::new(settings.unwrap())
    }

    fn poll(&self, root: &TrustRoot, reader: &mut PolicyReader) -> PolicyState {
        if let Some(source) = root.changed() {
            reader.use_root(source);
        }
        reader.poll();
        let (state, policy) = root.if_fresh(reader.state(), reader.policy(), &self.metrics);
        assert_eq!(policy.is_some(), state.fingerprint().is_some());
        state
    }

    fn reader(&self) -> PolicyReader {
        PolicyReader::new(self.path("policy/policy.yaml"))
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn refresh(root: &TrustRoot) -> Result<(), String> {
    root.refresh(root.settings.as_ref().unwrap()).await
}

#[tokio::test]
async fn a_policy_waits_for_the_first_root_and_keeps_the_last_one() {
    let mut world = World::new();
    let (root, mut reader) = (world.root(Some(DAY)), world.reader());
    let PolicyState::Missing { why } = world.poll(&root, &mut reader) else {
        panic!("the program's own is used");
    };
    assert!(why.contains("it is being fetched"), "{why}");
    let error = refresh(&root).await.unwrap_err();
    assert!(error.contains("cannot be read"), "{error}");
    let PolicyState::Missing { why } = world.poll(&root, &mut reader) else {
        panic!("the program's own is used");
    };
    assert!(why.contains("timestamp.json cannot be read"), "{why}");

    let files = world.publish(ROOT);
    refresh(&root).await.unwrap();
    let first = world.poll(&root, &mut reader);
    assert!(matches!(first, PolicyState::Loaded { .. }), "{first:?}");
    let mut other: Value = serde_json::from_str(ROOT).unwrap();
    other["tlogs"].as_array_mut().unwrap().pop().unwrap();
    world.publish(&other.to_string());
    refresh(&root).await.unwrap();
    let second = world.poll(&root, &mut reader);
    assert_ne!(first.fingerprint(), second.fingerprint());
    write(&files, &world.path("mirror"));
    let error = refresh(&root).await.unwrap_err();
    assert!(error.contains("was rolled back"), "{error}");
    assert_eq!(world.poll(&root, &mut reader), second);
    // After a restart the cache has it, with or without refreshing.
    for interval in [Some(DAY), None] {
        let (root, mut reader) = (world.root(interval), world.reader());
        assert_eq!(world.poll(&root, &mut reader), second);
        let wait = root.first_wait(DAY);
        assert!(wait > DAY / 2 && wait <= DAY, "{wait:?}");
    }
}

/// Nothing is accepted or refused with it; what runs goes on.
#[tokio::test]
async fn with_a_root_that_is_too_old_no_policy_is_known() {
    let mut world = World::new();
    world.publish(ROOT);
    refresh(&world.root(Some(DAY))).await.unwrap();
    let files = fs::read_dir(world.path("cache/trust-root")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let kept = files.find(|path| path.extension().is_some()).unwrap();
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let long_ago = Timestamp::now() - SignedDuration::from_hours(31 * 24);
    document["checkedAt"] = long_ago.to_string().into();
    fs::write(&kept, document.to_string()).unwrap();
    let (root, mut reader) = (world.root(Some(DAY)), world.reader());
    let PolicyState::Missing { why } = world.poll(&root, &mut reader) else {
        panic!("it decides");
    };
    assert!(why.contains("30 days ago at most"), "{why}");
    assert_eq!(root.first_wait(DAY), Duration::ZERO);
    // The same content, confirmed now.
    refresh(&root).await.unwrap();
    let state = world.poll(&root, &mut reader);
    assert!(matches!(state, PolicyState::Loaded { .. }), "{state:?}");
    // Without a maximum its age does not matter.
    let mut reader = world.reader();
    let state = world.poll(&TrustRoot::default(), &mut reader);
    assert!(matches!(state, PolicyState::Loaded { .. }), "{state:?}");
}
