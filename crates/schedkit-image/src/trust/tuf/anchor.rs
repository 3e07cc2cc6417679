//! The root of TUF where trust begins: the one of the public Sigstore instance, which is embedded, or
//! one that an administrator pins.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schedkit_core::Digest;
use sigstore_tuf::{Root, TrustedMetadataSet};

use super::fault::TufFault;
use crate::hash::sha256;
use crate::untrusted::{ReadError, Reader, read_trusted_file};

/// See `docs/trust.md` about where it comes from.
const PUBLIC_GOOD: &str = include_str!("../public_good_tuf_root.json");
pub(super) const MAX_ROOT_BYTES: usize = 64 << 10;
/// The library adds to versions.
const MAX_VERSION: u64 = u32::MAX as u64;

#[derive(Debug, Clone)]
pub struct Anchor {
    text: String,
    digest: Digest,
    version: u64,
    /// `None`: embedded.
    path: Option<PathBuf>,
}

/// Why a file is not used as the root of TUF.
#[derive(Debug, thiserror::Error)]
#[error("the TUF root {} cannot be used", path.display())]
pub struct AnchorError {
    path: PathBuf,
    #[source]
    fault: AnchorFault,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum AnchorFault {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("it has the SHA-256 {found}, and {pinned} is pinned")]
    OtherDigest { found: Digest, pinned: Digest },
    #[error(transparent)]
    Tuf(#[from] TufFault),
}

impl Anchor {
    /// Of the public Sigstore instance.
    ///
    /// # Errors
    /// Never with the embedded file, which a test checks.
    pub fn public_good() -> Result<Self, AnchorError> {
        Self::parse(PUBLIC_GOOD.to_owned(), None).map_err(|fault| AnchorError {
            path: "(built in)".into(),
            fault: fault.into(),
        })
    }

    /// A file, if it has this digest.
    ///
    /// # Errors
    /// When it cannot be read, or is another file or no root of TUF.
    pub fn read(path: &Path, pinned: &Digest, reader: Reader) -> Result<Self, AnchorError> {
        let read = || -> Result<Self, AnchorFault> {
            let text = read_trusted_file(path, MAX_ROOT_BYTES, reader)?;
            let found = sha256(text.as_bytes());
            if found != *pinned {
                let pinned = pinned.clone();
                return Err(AnchorFault::OtherDigest { found, pinned });
            }
            Ok(Self::parse(text, Some(path.to_owned()))?)
        };
        read().map_err(|fault| AnchorError {
            path: path.to_owned(),
            fault,
        })
    }

    fn parse(text: String, path: Option<PathBuf>) -> Result<Self, TufFault> {
        let trusted = TrustedMetadataSet::from_root(text.as_bytes())?;
        let root = trusted.root();
        if root.version > MAX_VERSION {
            return Err(TufFault::invalid("the version of the root is too high"));
        }
        check_keys(root)?;
        Ok(Self {
            digest: sha256(text.as_bytes()),
            version: root.version,
            text,
            path,
        })
    }

    /// Names what was kept for it.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// `None` if it is embedded.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// The library counts the names of keys.
pub(super) fn check_keys(root: &Root) -> Result<(), TufFault> {
    for (role, signers) in &root.roles {
        let names: BTreeSet<&String> = signers.keyids.iter().collect();
        let keys = names.iter().filter_map(|name| root.keys.get(*name));
        // One that cannot be used signs nothing.
        let keys = keys.filter_map(|key| key.verification_key().ok());
        let mut seen = BTreeSet::new();
        for key in keys {
            if !seen.insert(key.as_bytes().to_vec()) {
                let (version, role) = (root.version, role.clone());
                return Err(TufFault::SharedKey { version, role });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_root_needs_several_signatures() {
        let anchor = Anchor::public_good().unwrap();
        let trusted = TrustedMetadataSet::from_root(anchor.bytes()).unwrap();
        for role in ["root", "targets"] {
            let signers = trusted.root().role(role).unwrap();
            assert!(signers.threshold >= 3, "{role}: {}", signers.threshold);
        }
        assert!(anchor.version() >= 16);
    }
}
