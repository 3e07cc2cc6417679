//! Whether a container is schedctl's, from what the runtime records about it. Pure; called by the
//! drivers when they list a container and before they remove one.
//!
//! A label is no proof: an image can carry any label, and Podman gives a container the labels of its
//! image. No image can contain the name that its container will get by chance, or its own hash.
//!
//! ```text
//! label provider │ labels of ours repeat            │ named like a container │
//! =schedkit      │ the container's name and the     │ of ours, or like its   │
//!                │ image's hash as the runtime      │ image, or the hash is  │
//!                │ records them                     │ repeated in a label    │
//! ───────────────┼──────────────────────────────────┼────────────────────────┼───────────
//! yes            │ yes, and the name is of our form │ (any)                  │ Ours
//! yes            │ no                               │ yes                    │ Unproven
//! yes            │ no                               │ no                     │ not listed
//! no             │ (any)                            │ (any)                  │ not listed
//! ```
//!
//! Unproven are the containers of the older schedctl, which have one label and the name of their
//! scheduler, and ours after they were renamed. They are shown and can be stopped; their labels are
//! not believed, and nothing removes them unasked.

use std::collections::BTreeMap;

use schedkit_core::ImageRef;

use crate::record::{self, PROVIDER};

const NAME_PREFIX: &str = "schedkit-";
/// Random hexadecimal digits at the end of a name.
const NAME_DIGITS: usize = 8;

/// Whether schedctl created a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The runtime's record proves that this schedctl, or another one like it, created the container.
    Ours,
    /// It looks like a container of schedctl; that is all that is known.
    Unproven,
}

/// A container as the runtime describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Described<'a> {
    pub(crate) name: &'a str,
    /// As the runtime names it.
    pub(crate) image: &'a str,
    /// The runtime's name or id of the image, if it has the image's hash in it.
    pub(crate) image_hash: Option<&'a str>,
    pub(crate) labels: &'a BTreeMap<String, String>,
}

impl Described<'_> {
    /// `None` if it is not a container of schedctl.
    pub(crate) fn ownership(self) -> Option<Ownership> {
        let (provider, schedkit) = PROVIDER;
        if self.label(provider) != Some(schedkit) {
            return None;
        }
        let names_image = self.image_hash.is_some() && self.label(record::HASH) == self.image_hash;
        let names_itself = self.label(record::CONTAINER) == Some(self.name);
        if names_image && names_itself && self.has_our_name() {
            return Some(Ownership::Ours);
        }
        let alike = names_image || self.name.starts_with(NAME_PREFIX) || self.is_named_like_image();
        alike.then_some(Ownership::Unproven)
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// `schedkit-SCHEDULER-RANDOM`.
    fn has_our_name(&self) -> bool {
        let ends = self.name.strip_prefix(NAME_PREFIX);
        let random = ends.and_then(|rest| rest.rsplit('-').next());
        random.is_some_and(|random| {
            random.len() == NAME_DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }

    fn is_named_like_image(&self) -> bool {
        let image = self.image.parse::<ImageRef>().ok();
        image.is_some_and(|image| image.repository().path().rsplit('/').next() == Some(self.name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::tests::launch;

    const NAME: &str = "schedkit-scx_lab-0a1b2c3d";
    const IMAGE: &str = "a.example/scx_lab:1";
    const HASH: &str = "feedc0de";

    fn ours() -> BTreeMap<String, String> {
        launch("scx_lab", Vec::new(), "asked").labels(NAME, HASH)
    }

    fn of(name: &str, labels: &BTreeMap<String, String>) -> Option<Ownership> {
        let described = Described {
            name,
            image: IMAGE,
            image_hash: Some(HASH),
            labels,
        };
        described.ownership()
    }

    #[test]
    fn name_labels_and_image_together_are_the_proof() {
        assert_eq!(of(NAME, &ours()), Some(Ownership::Ours));
        // Renamed.
        assert_eq!(of("other", &ours()), Some(Ownership::Unproven));
        let other_image = Described {
            name: NAME,
            image: IMAGE,
            image_hash: Some("another"),
            labels: &ours(),
        };
        assert_eq!(other_image.ownership(), Some(Ownership::Unproven));
        let no_hash = Described {
            image_hash: None,
            ..other_image
        };
        assert_eq!(no_hash.ownership(), Some(Ownership::Unproven));
        for key in [PROVIDER.0, record::CONTAINER, record::HASH] {
            let mut labels = ours();
            labels.remove(key);
            assert_ne!(of(NAME, &labels), Some(Ownership::Ours), "{key}");
        }
        // containerd does not store labels without a value.
        let mut stored = ours();
        stored.retain(|_, value| !value.is_empty());
        assert_eq!(of(NAME, &stored), Some(Ownership::Ours));
    }

    #[test]
    fn the_older_schedctl_names_containers_like_their_scheduler() {
        let only = BTreeMap::from([("provider".to_owned(), "schedkit".to_owned())]);
        assert_eq!(of("scx_lab", &only), Some(Ownership::Unproven));
        assert_eq!(of("clever_name", &only), None);
        assert_eq!(of("scx_lab", &BTreeMap::new()), None);
        let other = BTreeMap::from([("provider".to_owned(), "other".to_owned())]);
        assert_eq!(of("scx_lab", &other), None);
    }

    proptest! {
        /// Whatever labels an image carries: it knows neither the name nor its own hash.
        #[test]
        fn no_label_of_an_image_makes_a_container_ours(
            guessed_name in "schedkit-scx_lab-[0-9a-f]{8}",
            guessed_hash in "[0-9a-f]{8}",
            name in "(schedkit-scx_lab-[0-9a-f]{8}|scx_lab|[a-z_]{3,20})",
            dropped in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        ) {
            prop_assume!(guessed_hash != HASH);
            let labels = launch("scx_lab", Vec::new(), "asked").labels(&guessed_name, &guessed_hash);
            let keys: Vec<String> = labels.keys().cloned().collect();
            let mut labels = labels;
            for index in dropped {
                labels.remove(index.get(&keys));
            }
            prop_assert_ne!(of(&name, &labels), Some(Ownership::Ours));
            // Even if the person who runs it gives it the name that the image wants.
            prop_assert_ne!(of(&guessed_name, &labels), Some(Ownership::Ours));
        }
    }
}
