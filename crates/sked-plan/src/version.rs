//! When a store takes over a version of an object.
//!
//! A store hears of an object twice: the response to an own write is stored at once, and the watch
//! reports the same version, and those before it, later. What it hears late must not undo what it
//! knows. Between the objects of one kind there is no other order.

/// The resource version of an object. Those of one kind are ordered numbers: documented since
/// Kubernetes 1.35, and true before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// From where a store hears of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heard {
    /// From a watch, or as the response to the creation of an object.
    New,
    /// As the response to a write of an existing object.
    Update,
}

impl Version {
    /// An empty or unreadable version is 0, which is older than every other.
    pub fn read(text: &str) -> Self {
        Self(text.parse().unwrap_or_default())
    }

    /// Whether a store that has this version of the object knows the other one. Nobody can tell
    /// for a version that cannot be read.
    pub fn knows(self, other: Self) -> bool {
        other != Self::default() && other <= self
    }
}

/// Whether the store takes over this version; `stored` is the one that it has. The response to an
/// update of an object that is not stored is dropped: a watch has reported the deletion before the
/// response arrived, and nothing would remove the object again.
pub fn is_taken(stored: Option<Version>, heard: Heard, version: Version) -> bool {
    match (stored, heard) {
        (None, Heard::Update) => false,
        (None, Heard::New) => true,
        (Some(stored), Heard::New | Heard::Update) => !stored.knows(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_and_the_update_of_a_deleted_object_are_dropped() {
        let at = |version| Some(Version(version));
        for (stored, heard, version, taken) in [
            (None, Heard::New, 7, true),
            (None, Heard::Update, 7, false),
            (at(7), Heard::New, 7, false),
            (at(7), Heard::New, 6, false),
            (at(7), Heard::Update, 8, true),
            (at(7), Heard::New, 0, true),
            (at(0), Heard::New, 5, true),
        ] {
            let result = is_taken(stored, heard, Version(version));
            assert_eq!(result, taken, "{stored:?} {heard:?} {version}");
        }
        assert_eq!(Version::read("12"), Version(12));
        assert_eq!(Version::read("x"), Version(0));
    }
}
