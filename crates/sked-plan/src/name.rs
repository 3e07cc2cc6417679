//! Names and ids of cluster objects as types of their own.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Cheap to clone: many lists name the same node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(pub Arc<str>);

/// The uid of an object. It changes when the object is deleted and created again.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub String);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub namespace: String,
    pub name: String,
}

/// The owner of a node as it stands in the node's label: a hash of the SchedExt's uid and the pool,
/// unique for each DaemonSet, written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(u64);

/// A label value that is no owner: a reserved value, or one that sked never wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read a node's owner: not 16 hexadecimal digits in lower case")]
pub struct NotAnOwner;

impl OwnerId {
    /// Of a SchedExt's base (`None`) or of one of its pools. Nothing else is hashed, so an edit of
    /// the spec does not change the owner of a node.
    pub fn new(schedext: &Uid, pool: Option<&str>) -> Self {
        Self::hashed(schedext, pool.unwrap_or_default())
    }

    /// Of the canary of the base or of a pool.
    pub fn canary(schedext: &Uid, pool: Option<&str>) -> Self {
        // A pool's name has no slash.
        Self::hashed(schedext, &format!("{}/canary", pool.unwrap_or_default()))
    }

    /// Of nodes where no part of the SchedExt may run, because its scheduler failed there. No
    /// template asks for it.
    pub fn quarantine(schedext: &Uid) -> Self {
        Self::hashed(schedext, "/quarantine")
    }

    fn hashed(schedext: &Uid, part: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(schedext.0.as_bytes());
        // A uid has no slash, so no pool's name can make one uid look like another.
        hash.update(b"/");
        hash.update(part.as_bytes());
        let digest = hash.finalize();
        let first = digest.iter().take(8);
        Self(first.fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for OwnerId {
    type Err = NotAnOwner;

    fn from_str(text: &str) -> Result<Self, NotAnOwner> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 16 || !text.bytes().all(digit) {
            return Err(NotAnOwner);
        }
        u64::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| NotAnOwner)
    }
}

impl From<&str> for NodeName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for NodeName {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_reads_as_it_was_written_and_depends_on_uid_and_pool() {
        let uid = Uid("0d5ff1b8-13f8-4c8f-9a5e-0c1a3b0ac001".to_owned());
        let base = OwnerId::new(&uid, None);
        let batch = OwnerId::new(&uid, Some("batch"));
        let all = [
            base,
            batch,
            OwnerId::canary(&uid, None),
            OwnerId::canary(&uid, Some("batch")),
            OwnerId::quarantine(&uid),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(base.to_string().len(), 16);
        assert_eq!(batch.to_string().parse(), Ok(batch));
        for text in ["", "foreign", "0123456789ABCDEF", "+123456789abcdef"] {
            assert_eq!(text.parse::<OwnerId>(), Err(NotAnOwner), "{text:?}");
        }
    }
}
