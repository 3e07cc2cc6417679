//! What is enabled at boot: the unit in `/etc`, systemd's links to instances of it, whatever target they
//! belong to, and the files that `enable` keeps for them. It can be put back without systemctl, which
//! may be what has failed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use schedkit_host::HostRoot;

use crate::systemd_unit::{self, ADMIN_UNITS, TEMPLATE};
use crate::{atomic_file, enabled};

/// A target's folders of links, see systemd.unit(5).
const LINK_FOLDERS: [&str; 3] = ["wants", "requires", "upholds"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BootSelection {
    /// Each link's path and target.
    links: BTreeMap<PathBuf, PathBuf>,
    /// Each kept file's path and content.
    kept: BTreeMap<PathBuf, Vec<u8>>,
    /// `None` if `/etc` has none.
    unit: Option<Vec<u8>>,
}

#[derive(Debug, thiserror::Error)]
#[error("what is enabled at boot cannot be read or changed: {}{}", path.display(), atomic_file::remedy(source))]
pub(crate) struct BootSelectionError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl BootSelection {
    pub(crate) fn read(root: &HostRoot) -> Result<Self, BootSelectionError> {
        let mut links = BTreeMap::new();
        for folder in link_folders(root)? {
            for path in entries(&folder)? {
                let is_ours = file_name(&path).is_some_and(systemd_unit::is_instance);
                // systemd ignores everything but links.
                if let (true, Ok(target)) = (is_ours, fs::read_link(&path)) {
                    links.insert(path, target);
                }
            }
        }
        let mut kept = BTreeMap::new();
        for path in enabled::files(root).map_err(|source| error(enabled::FOLDER, source))? {
            let content = fs::read(&path).map_err(|source| error(&path, source))?;
            kept.insert(path, content);
        }
        let path = unit_path(root);
        let unit = match fs::read(&path) {
            Err(source) if source.kind() == ErrorKind::NotFound => None,
            content => Some(content.map_err(|source| error(path, source))?),
        };
        Ok(Self { links, kept, unit })
    }

    /// The units that are enabled, each once.
    pub(crate) fn units(&self) -> Vec<String> {
        let names = self.links.keys().filter_map(|link| file_name(link));
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// Whether a link of this unit leads to a file that is gone.
    pub(crate) fn has_dangling_link(&self, unit: &str, root: &HostRoot) -> bool {
        let mut links = self.links.iter();
        links.any(|(link, target)| {
            let target = target.to_str().map(|target| root.path(target));
            file_name(link) == Some(unit) && target.is_some_and(|target| !target.exists())
        })
    }

    /// Makes unit, links and files what they were.
    pub(crate) fn restore(&self, root: &HostRoot) -> Result<(), BootSelectionError> {
        let now = Self::read(root)?;
        let path = unit_path(root);
        if self.unit != now.unit {
            let restored = match &self.unit {
                Some(content) => atomic_file::write(&path, content, 0o644),
                None => fs::remove_file(&path),
            };
            restored.map_err(|source| error(path, source))?;
        }
        let added = now.links.keys();
        let added = added.filter(|link| self.links.get(*link) != now.links.get(*link));
        let added_files = now
            .kept
            .keys()
            .filter(|file| !self.kept.contains_key(*file));
        for path in added.chain(added_files) {
            fs::remove_file(path).map_err(|source| error(path, source))?;
        }
        for (link, target) in &self.links {
            if now.links.get(link) != Some(target) {
                let folder = link.parent().unwrap_or(Path::new("/"));
                let made = fs::create_dir_all(folder).and_then(|()| symlink(target, link));
                made.map_err(|source| error(link, source))?;
            }
        }
        for (file, content) in &self.kept {
            if now.kept.get(file) != Some(content) {
                let written = atomic_file::write(file, content, 0o600);
                written.map_err(|source| error(file, source))?;
            }
        }
        sync(root)
    }
}

/// Writes the links that were made or removed to the disk.
pub(crate) fn sync(root: &HostRoot) -> Result<(), BootSelectionError> {
    let folders = link_folders(root)?.into_iter();
    for folder in folders.chain([root.path(ADMIN_UNITS)]) {
        match File::open(&folder).and_then(|folder| folder.sync_all()) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(error(&folder, source));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn unit_path(root: &HostRoot) -> PathBuf {
    root.path(ADMIN_UNITS).join(TEMPLATE)
}

fn link_folders(root: &HostRoot) -> Result<Vec<PathBuf>, BootSelectionError> {
    let mut folders = entries(&root.path(ADMIN_UNITS))?;
    folders.retain(|path| {
        let kind = path.extension().and_then(|kind| kind.to_str());
        kind.is_some_and(|kind| LINK_FOLDERS.contains(&kind)) && path.is_dir()
    });
    Ok(folders)
}

/// Empty if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, BootSelectionError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(folder, source)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: io::Result<Vec<PathBuf>> = paths.collect();
    paths.map_err(|source| error(folder, source))
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn error(path: impl Into<PathBuf>, source: io::Error) -> BootSelectionError {
    let path = path.into();
    BootSelectionError { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> (tempfile::TempDir, HostRoot) {
        let folder = tempfile::tempdir().unwrap();
        let root = HostRoot::at(folder.path());
        (folder, root)
    }

    fn link(root: &HostRoot, target: &str, unit: &str) {
        let folder = root.path(ADMIN_UNITS).join(target);
        fs::create_dir_all(&folder).unwrap();
        let template = format!("{ADMIN_UNITS}/{TEMPLATE}");
        symlink(template, folder.join(unit)).unwrap();
    }

    #[test]
    fn the_units_of_all_targets_are_found() {
        let (_folder, root) = machine();
        assert!(BootSelection::read(&root).unwrap().units().is_empty());
        link(&root, "multi-user.target.wants", "schedctl@b.service");
        link(&root, "multi-user.target.wants", "sshd.service");
        link(&root, "graphical.target.requires", "schedctl@a.service");
        link(&root, "default.target.wants", "schedctl@b.service");
        link(&root, "schedctl@c.service.d", "schedctl@c.service");
        let selection = BootSelection::read(&root).unwrap();
        assert_eq!(
            selection.units(),
            ["schedctl@a.service", "schedctl@b.service"]
        );
        assert!(selection.has_dangling_link("schedctl@a.service", &root));
        fs::write(root.path(ADMIN_UNITS).join(TEMPLATE), "").unwrap();
        assert!(!selection.has_dangling_link("schedctl@a.service", &root));
    }

    #[test]
    fn it_is_put_back_as_it_was() {
        let (_folder, root) = machine();
        let wants = "multi-user.target.wants";
        link(&root, wants, "schedctl@a.service");
        let kept = root.path(enabled::FOLDER);
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("schedctl@a.service.json"), "a").unwrap();
        let before = BootSelection::read(&root).unwrap();
        before.restore(&root).unwrap();
        assert_eq!(BootSelection::read(&root).unwrap(), before);
        // systemctl removes the folder with its last link.
        fs::remove_dir_all(root.path(ADMIN_UNITS).join(wants)).unwrap();
        fs::write(kept.join("schedctl@a.service.json"), "other").unwrap();
        fs::write(kept.join("schedctl@b.service.json"), "b").unwrap();
        link(&root, "graphical.target.wants", "schedctl@b.service");
        fs::write(root.path(ADMIN_UNITS).join(TEMPLATE), "unit").unwrap();
        before.restore(&root).unwrap();
        assert_eq!(BootSelection::read(&root).unwrap(), before);
        // With the unit of a package in its place.
        fs::write(root.path(ADMIN_UNITS).join(TEMPLATE), "unit").unwrap();
        let before = BootSelection::read(&root).unwrap();
        fs::remove_file(root.path(ADMIN_UNITS).join(TEMPLATE)).unwrap();
        before.restore(&root).unwrap();
        assert_eq!(BootSelection::read(&root).unwrap(), before);
    }
}
