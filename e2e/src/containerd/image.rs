//! Images for the tests: a small program, in layers of every kind.

use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use lab::oci::{Blob, Registry};
use serde_json::{Value, json};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
const DOCKER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// A recipe.
#[derive(Clone, Debug)]
pub struct ImageRecipe {
    pub process: Value,
    pub architecture: String,
    /// Further layers, and whether they are compressed.
    pub layers: Vec<(Blob, Packing)>,
    /// What the configuration says of the last layer, where that is not the truth.
    pub lie: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
    Docker,
}

impl ImageRecipe {
    /// The program, which does nothing unless it is told; `mark` makes the digest.
    pub fn new(mark: &str) -> Self {
        Self {
            process: json!({
                "Entrypoint": ["/program"],
                "Env": ["PATH=/", format!("MARK={mark}")],
            }),
            architecture: schedkit_image::registry::Platform::this_machine().architecture,
            layers: vec![(layer("program", &program()), Packing::Plain)],
            lie: None,
        }
    }

    /// Puts it into the registry and gives its digest.
    pub fn push(&self, registry: &Registry, repository: &str) -> String {
        let manifest = self.push_parts(registry, repository);
        let digest = &manifest.digest;
        let pushed = registry.push_manifest(repository, digest, MANIFEST, &manifest);
        pushed.unwrap();
        manifest.digest
    }

    /// The same within an index that names another machine's first.
    pub fn push_index(&self, registry: &Registry, repository: &str) -> String {
        let other = Self {
            architecture: "s390x".to_owned(),
            ..self.clone()
        };
        let entries = [&other, self].map(|recipe| {
            let digest = recipe.push(registry, repository);
            let size = recipe.push_parts(registry, repository).bytes.len();
            json!({
                "mediaType": MANIFEST, "digest": digest, "size": size,
                "platform": {"os": "linux", "architecture": recipe.architecture},
            })
        });
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
        let index = Blob::new(index.to_string().into_bytes());
        let pushed = registry.push_manifest(repository, &index.digest, INDEX, &index);
        pushed.unwrap();
        index.digest
    }

    fn push_parts(&self, registry: &Registry, repository: &str) -> Blob {
        let mut descriptors = Vec::new();
        for (tar, packing) in &self.layers {
            let (blob, media_type) = match packing {
                Packing::Plain => (tar.clone(), TAR),
                Packing::Gzip => (Blob::new(gzip(&tar.bytes)), GZIP),
                Packing::Zstd => (Blob::new(zstd(&tar.bytes)), ZSTD),
                Packing::Docker => (Blob::new(gzip(&tar.bytes)), DOCKER),
            };
            registry.push_blob(repository, &blob).unwrap();
            descriptors.push(blob.descriptor(media_type));
        }
        let truth = self.layers.iter().map(|(tar, _)| &tar.digest);
        let told = truth.len() - usize::from(self.lie.is_some());
        let diff_ids: Vec<_> = truth.take(told).chain(&self.lie).collect();
        let config = json!({
            "architecture": self.architecture, "os": "linux", "config": self.process,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let config = Blob::new(config.to_string().into_bytes());
        registry.push_blob(repository, &config).unwrap();
        Blob::new(
            json!({
                "schemaVersion": 2, "mediaType": MANIFEST,
                "config": config.descriptor(CONFIG), "layers": descriptors,
            })
            .to_string()
            .into_bytes(),
        )
    }
}

/// A layer with one file.
pub fn layer(name: &str, bytes: &[u8]) -> Blob {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o755);
    archive.append_data(&mut header, name, bytes).unwrap();
    Blob::new(archive.into_inner().unwrap())
}

/// Bytes that do not compress and differ by `mark`.
pub fn noise(mark: u64, length: usize) -> Vec<u8> {
    let mut state = mark | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&next());
    }
    bytes.truncate(length);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A frame of Zstandard that compresses nothing: its length, then blocks as they are.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    let mut blocks = bytes.chunks(64 * 1024).peekable();
    while let Some(block) = blocks.next() {
        let is_last = u32::from(blocks.peek().is_none());
        let header = u32::try_from(block.len()).unwrap() << 3 | is_last;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

/// The compiled program of `program.c`.
pub fn program() -> Vec<u8> {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM
        .get_or_init(|| {
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/containerd/program.c");
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("program");
            let mut compiler = Command::new("cc");
            compiler.args(["-static", "-O1", "-s", "-o"]);
            let compiled = compiler.arg(&program).arg(source).status();
            assert!(compiled.unwrap().success());
            std::fs::read(program).unwrap()
        })
        .clone()
}
