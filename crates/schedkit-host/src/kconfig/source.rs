//! Where a kernel's configuration can be read, and reading it: packed or plain, never without a
//! limit.

use flate2::read::GzDecoder;
use schedkit_core::KernelRelease;
use serde::{Serialize, Serializer};

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

/// Ten times the biggest configuration seen, so that a few bytes cannot unpack into a machine's
/// whole memory.
const LIMIT: usize = 4 << 20;

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `/proc/config.gz`: the kernel itself.
    Proc,
    /// `/boot/config-RELEASE`.
    Boot(KernelRelease),
    /// `/lib/modules/RELEASE/config`.
    Modules(KernelRelease),
}

impl Source {
    /// All places where the configuration of this release may be, best first.
    pub(super) fn all(release: Option<&KernelRelease>) -> Vec<Self> {
        let mut all = vec![Self::Proc];
        // A release is part of a path here: one with a slash would lead elsewhere.
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

    /// Whether libbpf looks there, too.
    pub fn is_seen_by_libbpf(&self) -> bool {
        match self {
            Self::Proc | Self::Boot(_) => true,
            Self::Modules(_) => false,
        }
    }

    pub(super) fn read(&self, root: &HostRoot) -> Fact<String> {
        let path = root.path(&self.path());
        match self {
            Self::Proc => small_file::bytes(&path, LIMIT).and_then(|packed| unpack(&packed, LIMIT)),
            Self::Boot(_) | Self::Modules(_) => small_file::text(&path, LIMIT),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.path())
    }
}

/// The text of at most `limit` bytes in a gzip file.
fn unpack(packed: &[u8], limit: usize) -> Fact<String> {
    match small_file::drain(GzDecoder::new(packed), limit + 1) {
        Err(error) => Fact::Unreadable(error.to_string()),
        Ok(bytes) if bytes.len() > limit => {
            Fact::Unreadable(format!("it unpacks to more than {limit} bytes"))
        }
        Ok(bytes) => {
            String::from_utf8(bytes).map_or_else(|_| Fact::strange("it is no text"), Fact::Known)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    fn pack(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let packed = pack(b"CONFIG_BPF=y\n");
        assert_eq!(
            unpack(&packed, 13),
            Fact::Known("CONFIG_BPF=y\n".to_owned())
        );
        assert!(matches!(unpack(&packed, 12), Fact::Unreadable(_)));
        assert!(matches!(
            unpack(&packed[..packed.len() - 9], 13),
            Fact::Unreadable(_)
        ));
        assert!(matches!(unpack(b"plain", 13), Fact::Unreadable(_)));
        assert!(matches!(unpack(&pack(&[0xff]), 13), Fact::Strange(_)));
    }

    #[test]
    fn a_bomb_does_not_go_off() {
        let bomb = pack(&vec![b' '; LIMIT + 1]);
        assert!(bomb.len() < LIMIT / 100);
        assert!(matches!(unpack(&bomb, LIMIT), Fact::Unreadable(_)));
    }

    #[test]
    fn a_release_never_leads_elsewhere() {
        let release = "6.1/../../etc".parse().unwrap();
        assert_eq!(Source::all(Some(&release)), [Source::Proc]);
        assert_eq!(Source::all(None), [Source::Proc]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(bytes: Vec<u8>) {
            let _ = unpack(&bytes, 1000);
        }
    }
}
