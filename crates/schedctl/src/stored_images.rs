//! The images of schedulers in the stores of both runtimes, and which of them `prune` may remove.

use std::fs;

use schedkit_core::{Digest, ImageRef, Repository};
use schedkit_host::HostRoot;
use schedkit_image::catalog::{Catalog, load_stored};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{DriverError, ImageEntry, ImageOwner, ImageStore};
use tokio::time::timeout;

use crate::container::repository_name;
use crate::drivers::open;
use crate::enabled;
use crate::inventory::{READ_TIMEOUT, is_not_installed};
use crate::pull_record::PullRecord;
use crate::runtimes::Endpoint;
use crate::settings::{Origin, Settings};
use crate::systemd_unit::{ADMIN_UNITS, WANTS_DIR};

/// An image of a scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuntimeImage {
    pub(crate) runtime: Runtime,
    pub(crate) entry: ImageEntry,
    pub(crate) origin: ImageOrigin,
    /// It is started at boot.
    pub(crate) enabled: bool,
}

#[derive(Debug)]
pub(crate) struct StoredImages {
    pub(crate) images: Vec<RuntimeImage>,
    /// Why those of the other runtime are unknown although it is installed.
    pub(crate) warning: Option<DriverError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageOrigin {
    /// schedctl pulled it.
    Pulled,
    /// Its repository is in the catalog, or it has a scheduler's name; others may have pulled it.
    Unknown,
}

impl RuntimeImage {
    /// schedctl pulled it, no container uses it, and it is not started at boot.
    pub(crate) fn may_be_removed(&self) -> bool {
        self.origin == ImageOrigin::Pulled && self.entry.containers == 0 && !self.enabled
    }

    pub(crate) fn digests(&self) -> impl Iterator<Item = Digest> {
        let digests = self.entry.digests.iter();
        digests.filter_map(|digest| digest.parse().ok())
    }
}

/// The images in both stores; with `--driver` in that one only. The other runtime need not be
/// installed.
pub(crate) async fn list(
    settings: &Settings,
    root: &HostRoot,
) -> Result<StoredImages, DriverError> {
    let runtimes = settings.runtimes();
    let by_flag = settings.driver.origin == Origin::Flag;
    let endpoints = [&runtimes.chosen, &runtimes.other];
    let asked = if by_flag { &endpoints[..1] } else { &endpoints };
    let is_default = |origin: &Origin| *origin == Origin::Default;
    let any = is_default(&settings.driver.origin) && is_default(&settings.socket.origin);
    let known = Known::read(settings, root);
    let (mut images, mut answered) = (Vec::new(), false);
    let (mut missing, mut warning) = (None, None);
    for endpoint in asked {
        let is_chosen = *endpoint == &runtimes.chosen;
        match of_one(endpoint, settings).await {
            Ok(entries) => {
                answered = true;
                let ours = entries.into_iter();
                images.extend(ours.filter_map(|entry| known.image(endpoint.runtime, entry)));
            }
            Err(error) if is_not_installed(&error) && (any || !is_chosen) => {
                missing = missing.or(Some(error));
            }
            Err(error) if is_chosen => return Err(error),
            Err(error) => warning = Some(error),
        }
    }
    match missing {
        Some(error) if !answered => Err(error),
        _ => Ok(StoredImages { images, warning }),
    }
}

async fn of_one(endpoint: &Endpoint, settings: &Settings) -> Result<Vec<ImageEntry>, DriverError> {
    let listing = open(endpoint, &settings.registry);
    timeout(READ_TIMEOUT, listing.images())
        .await
        .unwrap_or_else(|_| {
            Err(DriverError::Timeout {
                runtime: endpoint.runtime,
                attempt: "list its images".to_owned(),
                seconds: READ_TIMEOUT.as_secs(),
            })
        })
}

/// What tells images of schedulers from others.
struct Known {
    record: PullRecord,
    catalog: Vec<Repository>,
    /// The units that start schedulers at boot, as text.
    enabled: String,
    /// What `schedctl enable` has pinned them to.
    pinned: Vec<Digest>,
}

impl Known {
    fn read(settings: &Settings, root: &HostRoot) -> Self {
        let catalog = load_stored(&settings.catalog.value, &settings.cache.value);
        let entries = catalog.iter().flat_map(Catalog::entries);
        Self {
            record: PullRecord::new(&settings.cache.value),
            catalog: entries
                .map(|(_, image)| image.repository().clone())
                .collect(),
            enabled: enabled_units(root),
            // `prune` has refused already if they cannot be read.
            pinned: enabled::pinned_digests(root).unwrap_or_default(),
        }
    }

    /// `None` if it is not a scheduler's image, as far as is known.
    fn image(&self, runtime: Runtime, entry: ImageEntry) -> Option<RuntimeImage> {
        let digests: Vec<Digest> = entry
            .digests
            .iter()
            .filter_map(|one| one.parse().ok())
            .collect();
        let recorded = digests.iter().any(|digest| self.record.has(digest));
        let origin = match entry.owner {
            ImageOwner::Schedctl => ImageOrigin::Pulled,
            ImageOwner::Unknown if recorded => ImageOrigin::Pulled,
            ImageOwner::Unknown | ImageOwner::Other => ImageOrigin::Unknown,
        };
        if origin == ImageOrigin::Unknown && !entry.names.iter().any(|name| self.is_listed(name)) {
            return None;
        }
        let enabled = digests
            .iter()
            .any(|digest| self.pinned.contains(digest) || self.enabled.contains(&digest.hex()))
            || entry.names.iter().any(|name| self.is_enabled(name));
        Some(RuntimeImage {
            runtime,
            entry,
            origin,
            enabled,
        })
    }

    /// A unit may name the scheduler only.
    fn is_enabled(&self, name: &str) -> bool {
        repository_name(name).is_some_and(|name| self.enabled.contains(&name))
    }

    fn is_listed(&self, name: &str) -> bool {
        let image = name.parse::<ImageRef>().ok();
        image.is_some_and(|image| self.catalog.contains(image.repository()))
    }
}

/// The names and the text of schedctl's units, and of the files in their folders.
fn enabled_units(root: &HostRoot) -> String {
    let mut text = String::new();
    for folder in [ADMIN_UNITS, WANTS_DIR] {
        for entry in fs::read_dir(root.path(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with("schedctl") {
                continue;
            }
            text += &name;
            text += &fs::read_to_string(entry.path()).unwrap_or_default();
            for file in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                text += &fs::read_to_string(file.path()).unwrap_or_default();
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use schedkit_image::catalog::Cache;

    use super::*;

    fn entry(owner: ImageOwner, name: &str, digest: &str) -> ImageEntry {
        ImageEntry {
            id: "1".to_owned(),
            names: vec![format!("{name}@{digest}")],
            digests: vec![digest.to_owned()],
            size: Some(1),
            created: None,
            containers: 0,
            owner,
        }
    }

    #[test]
    fn only_what_schedctl_pulled_and_nobody_needs_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let digest = format!("sha256:{:064}", 1);
        let mut known = Known {
            record: PullRecord::new(&Cache::Folder(folder.path().to_owned())),
            catalog: vec!["a.example/one".parse().unwrap()],
            enabled: String::new(),
            pinned: Vec::new(),
        };
        let removed = |known: &Known, entry: ImageEntry| {
            let image = known.image(Runtime::Podman, entry);
            image.map(|image| image.may_be_removed())
        };
        let listed = |owner| entry(owner, "a.example/one", &digest);
        // Others may have pulled it.
        assert_eq!(removed(&known, listed(ImageOwner::Unknown)), Some(false));
        assert_eq!(removed(&known, listed(ImageOwner::Other)), Some(false));
        assert_eq!(removed(&known, listed(ImageOwner::Schedctl)), Some(true));
        let other = || entry(ImageOwner::Unknown, "a.example/two", &digest);
        assert_eq!(removed(&known, other()), None);
        known.record.add(&digest.parse().unwrap());
        assert_eq!(removed(&known, other()), Some(true));
        // Somebody has given it a tag since.
        assert_eq!(removed(&known, listed(ImageOwner::Other)), Some(false));
        let used = ImageEntry {
            containers: 1,
            ..other()
        };
        assert_eq!(removed(&known, used), Some(false));
        known.enabled = format!("ExecStart=schedctl run a.example/two@{digest}");
        assert_eq!(removed(&known, other()), Some(false));
        known.enabled.clear();
        known.pinned = vec![digest.parse().unwrap()];
        assert_eq!(removed(&known, other()), Some(false));
    }
}
