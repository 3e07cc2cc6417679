//! One image: files in a layer, a configuration, a manifest. The only input is the files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::command::{self, CommandError};

/// Media type of an image's manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Media type of a list of manifests for several platforms.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// A program or library for an image.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path on this machine.
    pub from: PathBuf,
    /// Its path in the image.
    pub to: PathBuf,
}

/// Bytes and their digest.
#[derive(Clone, Debug)]
pub struct Blob {
    /// `sha256:…`
    pub digest: String,
    pub bytes: Vec<u8>,
}

impl Blob {
    pub fn new(bytes: Vec<u8>) -> Self {
        let hash = Sha256::digest(&bytes);
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            digest: format!("sha256:{hex}"),
            bytes,
        }
    }

    /// The OCI descriptor of the bytes.
    pub fn descriptor(&self, media_type: &str) -> serde_json::Value {
        json!({"mediaType": media_type, "digest": self.digest, "size": self.bytes.len()})
    }
}

/// An image for one platform.
#[derive(Clone, Debug)]
pub struct Image {
    /// The digest of the image is that of its manifest.
    pub manifest: Blob,
    /// The configuration and the layer.
    pub blobs: Vec<Blob>,
    architecture: String,
}

/// An image for several platforms.
#[derive(Clone, Debug)]
pub struct Index {
    pub manifest: Blob,
    /// One image per platform.
    pub images: Vec<Image>,
}

impl Image {
    /// Builds an image. `command` is the entrypoint and its arguments.
    pub fn new(
        architecture: &str,
        files: &[File],
        command: &[&str],
        labels: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let (entrypoint, arguments) = command.split_at(command.len().min(1));
        let config = json!({"Entrypoint": entrypoint, "Cmd": arguments, "Labels": labels, "Env": ["PATH=/"]});
        Self::configured(architecture, files, &config)
    }

    /// Builds an image with any `config`, for example with a user.
    pub fn configured(
        architecture: &str,
        files: &[File],
        config: &serde_json::Value,
    ) -> io::Result<Self> {
        let layer = Blob::new(layer(files)?);
        let config = Blob::new(serde_json::to_vec(&json!({
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer.digest]},
        }))?);
        let manifest = Blob::new(serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(CONFIG),
            "layers": [layer.descriptor(LAYER)],
        }))?);
        Ok(Self {
            manifest,
            blobs: vec![config, layer],
            architecture: architecture.to_owned(),
        })
    }

    /// An image without files whose digest depends on `mark`, for tests that sign images.
    pub fn marked(mark: &str) -> io::Result<Self> {
        Self::marked_for("amd64", mark)
    }

    fn marked_for(architecture: &str, mark: &str) -> io::Result<Self> {
        let labels = BTreeMap::from([("lab.mark".to_owned(), mark.to_owned())]);
        Self::new(architecture, &[], &["/nothing"], &labels)
    }
}

impl Index {
    /// Combines the images of several platforms.
    pub fn new(images: Vec<Image>) -> io::Result<Self> {
        let manifests: Vec<_> = images
            .iter()
            .map(|image| {
                let mut descriptor = image.manifest.descriptor(MANIFEST);
                descriptor["platform"] = json!({"architecture": image.architecture, "os": "linux"});
                descriptor
            })
            .collect();
        let manifest = Blob::new(serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": manifests,
        }))?);
        Ok(Self { manifest, images })
    }

    /// Two images without files, for two platforms; all three digests depend on `mark`.
    pub fn marked(mark: &str) -> io::Result<Self> {
        Self::new(vec![
            Image::marked_for("amd64", mark)?,
            Image::marked_for("arm64", mark)?,
        ])
    }
}

/// The shared libraries that a program needs, with the same path in the image; none for a static
/// program. A missing library is not an error here.
pub fn shared_libraries(program: &Path) -> Result<Vec<File>, CommandError> {
    let listing = command::read(Command::new("ldd").arg(program))?;
    Ok(parse_ldd(&listing))
}

fn parse_ldd(listing: &str) -> Vec<File> {
    listing
        .lines()
        .filter_map(|line| line.split_whitespace().find(|field| field.starts_with('/')))
        .map(|path| File {
            from: path.into(),
            to: path.into(),
        })
        .collect()
}

/// A tar archive of the files, without owners and times, so that the same files give the same bytes.
fn layer(files: &[File]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let bytes = std::fs::read(&file.from)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        let to = file.to.strip_prefix("/").unwrap_or(&file.to);
        archive.append_data(&mut header, to, bytes.as_slice())?;
    }
    archive.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_parsed_from_the_output_of_ldd() {
        let listing = "\tlinux-vdso.so.1 (0x00007f6b85546000)\n\
                       \tlibelf.so.1 => /lib/x86_64-linux-gnu/libelf.so.1 (0x00007f6b85519000)\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007f6b85548000)\n";
        let paths: Vec<_> = parse_ldd(listing).into_iter().map(|file| file.to).collect();
        assert_eq!(
            paths,
            [
                PathBuf::from("/lib/x86_64-linux-gnu/libelf.so.1"),
                PathBuf::from("/lib64/ld-linux-x86-64.so.2")
            ]
        );
    }

    #[test]
    fn the_same_input_gives_the_same_digest() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "bytes").unwrap();
        let files = [File {
            from: program,
            to: "/program".into(),
        }];
        let make = |argument| {
            Image::new("amd64", &files, &["/program", argument], &BTreeMap::new()).unwrap()
        };
        assert_eq!(make("a").manifest.digest, make("a").manifest.digest);
        assert_ne!(make("a").manifest.digest, make("b").manifest.digest);
    }

    #[test]
    fn an_index_names_its_images_by_digest_and_platform() {
        let image =
            |architecture| Image::new(architecture, &[], &["/x"], &BTreeMap::new()).unwrap();
        let index = Index::new(vec![image("amd64"), image("arm64")]).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&index.manifest.bytes).unwrap();
        assert_eq!(json["manifests"][1]["platform"]["architecture"], "arm64");
        assert_eq!(
            json["manifests"][1]["digest"],
            index.images[1].manifest.digest.as_str()
        );
    }
}
