//! The files in which a kernel's configuration may be, and reading them, compressed or plain, up to
//! a size limit.

use flate2::read::GzDecoder;
use schedkit_core::KernelRelease;
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

/// Ten times the biggest configuration seen. Keeps a small compressed file from filling the memory.
const LIMIT: usize = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// `/proc/config.gz`.
    Proc,
    /// `/boot/config-RELEASE`.
    Boot(KernelRelease),
    /// `/lib/modules/RELEASE/config`.
    Modules(KernelRelease),
}

impl ConfigSource {
    /// All files where the configuration of this release may be, the best first.
    pub(super) fn all(release: Option<&KernelRelease>) -> Vec<Self> {
        let mut all = vec![Self::Proc];
        // The release becomes part of a path: one with a slash would leave the folder.
        if let Some(release) = release.filter(|release| !release.as_str().contains('/')) {
            all.push(Self::Boot(release.clone()));
            all.push(Self::Modules(release.clone()));
        }
        all
    }

    /// The path on the machine.
    pub fn path(&self) -> String {
        match self {
            Self::Proc => "/proc/config.gz".to_owned(),
            Self::Boot(release) => format!("/boot/config-{release}"),
            Self::Modules(release) => format!("/lib/modules/{release}/config"),
        }
    }

    pub fn is_read_by_libbpf(&self) -> bool {
        match self {
            Self::Proc | Self::Boot(_) => true,
            Self::Modules(_) => false,
        }
    }

    pub(super) fn read(&self, root: &HostRoot) -> Fact<String> {
        let path = root.path(&self.path());
        match self {
            Self::Proc => small_file::bytes(&path, LIMIT)
                .and_then(|compressed| decompress(&compressed, LIMIT)),
            Self::Boot(_) | Self::Modules(_) => small_file::text(&path, LIMIT),
        }
    }
}

impl Serialize for ConfigSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.path())
    }
}

/// Decompresses a gzip file to a text of at most `limit` bytes.
fn decompress(compressed: &[u8], limit: usize) -> Fact<String> {
    match small_file::read_up_to(GzDecoder::new(compressed), limit + 1) {
        Err(error) => Fact::Unreadable(error.to_string()),
        Ok(bytes) if bytes.len() > limit => {
            Fact::Unreadable(format!("it decompresses to more than {limit} bytes"))
        }
        Ok(bytes) => {
            String::from_utf8(bytes).map_or_else(|_| Fact::malformed("it is not text"), Fact::Known)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    fn compress(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_text_is_decompressed() {
        let compressed = compress(b"CONFIG_BPF=y\n");
        assert_eq!(
            decompress(&compressed, 13),
            Fact::Known("CONFIG_BPF=y\n".to_owned())
        );
        assert!(matches!(decompress(&compressed, 12), Fact::Unreadable(_)));
        assert!(matches!(
            decompress(&compressed[..compressed.len() - 9], 13),
            Fact::Unreadable(_)
        ));
        assert!(matches!(decompress(b"plain", 13), Fact::Unreadable(_)));
        assert!(matches!(
            decompress(&compress(&[0xff]), 13),
            Fact::Malformed(_)
        ));
    }

    #[test]
    fn a_decompression_bomb_is_refused() {
        let bomb = compress(&vec![b' '; LIMIT + 1]);
        assert!(bomb.len() < LIMIT / 100);
        assert!(matches!(decompress(&bomb, LIMIT), Fact::Unreadable(_)));
    }

    #[test]
    fn a_release_with_a_slash_is_not_used() {
        let release = "6.1/../../etc".parse().unwrap();
        assert_eq!(ConfigSource::all(Some(&release)), [ConfigSource::Proc]);
        assert_eq!(ConfigSource::all(None), [ConfigSource::Proc]);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            let _ = decompress(&bytes, 1000);
        }
    }
}
