//! What `schedctl enable` keeps for the boot: the image by digest, the arguments, and the settings of
//! that run which the settings file does not have. A file per unit in `/etc/schedctl/enabled`, written
//! by `enable`, deleted by `disable`, read by the unit's `run --attach --enabled`.
//!
//! Secrets are not copied: of credentials it has the path, and a proxy with a password is left out.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use schedkit_core::{Digest, ImageRef, PinnedRef};
use schedkit_host::HostRoot;
use schedkit_image::untrusted::{self, ReadError};
use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::systemd_unit;

pub(crate) const FOLDER: &str = "/etc/schedctl/enabled";
const SUFFIX: &str = ".json";
const MAX_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnabledScheduler {
    pub(crate) scheduler: String,
    /// As it was asked for, without the digest.
    pub(crate) reference: ImageRef,
    /// The name that it was asked for as, if a catalog led to it.
    pub(crate) catalog_name: Option<String>,
    pub(crate) image: PinnedRef,
    pub(crate) args: Vec<String>,
    /// Whether verification was waived for this image.
    pub(crate) allow_unsigned: bool,
    /// Variables that the unit's environment does not have.
    pub(crate) environment: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    scheduler: String,
    reference: String,
    /// Files of older programs do not have it.
    #[serde(default)]
    catalog_name: Option<String>,
    image: String,
    args: Vec<String>,
    allow_unsigned: bool,
    environment: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EnabledError {
    #[error("{} {source}", path.display())]
    Unreadable { path: PathBuf, source: ReadError },
    #[error("{} cannot be written{}", path.display(), atomic_file::remedy(source))]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} was not written by this schedctl: run `schedctl enable` again", .0.display())]
    Invalid(PathBuf),
    /// Its arguments and settings are used by root.
    #[error("{} is not used, because others may write to it: run `schedctl enable` again", .0.display())]
    Untrusted(PathBuf),
}

impl EnabledScheduler {
    /// What was kept for this name or reference, if anything.
    pub(crate) fn read(root: &HostRoot, image: &str) -> Result<Option<Self>, EnabledError> {
        Self::read_file(root, &root.path(&file(&systemd_unit::instance(image))))
    }

    /// What was kept for any unit. Fails if a file cannot be used.
    pub(crate) fn read_all(root: &HostRoot) -> Result<Vec<Self>, EnabledError> {
        let folder = root.path(FOLDER);
        let files = files(root).map_err(|error| unreadable(folder, error.into()))?;
        let read = |path: &PathBuf| Self::read_file(root, path).transpose();
        files.iter().filter_map(read).collect()
    }

    fn read_file(root: &HostRoot, path: &Path) -> Result<Option<Self>, EnabledError> {
        let (path, folder) = (path.to_owned(), root.path(FOLDER));
        let owner = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(path, error.into())),
        };
        let folder =
            fs::metadata(folder).map_err(|error| unreadable(path.clone(), error.into()))?;
        let user = rustix::process::geteuid().as_raw();
        let private =
            |file: &fs::Metadata| [0, user].contains(&file.uid()) && file.mode() & 0o022 == 0;
        if !private(&owner) || !private(&folder) {
            return Err(EnabledError::Untrusted(path));
        }
        let text = untrusted::read_file(&path, MAX_BYTES);
        let text = text.map_err(|error| unreadable(path.clone(), error))?;
        Self::parse(&text)
            .map(Some)
            .ok_or(EnabledError::Invalid(path))
    }

    fn parse(text: &str) -> Option<Self> {
        let Document {
            scheduler,
            reference,
            catalog_name,
            image,
            args,
            allow_unsigned,
            environment,
        } = serde_json::from_str(text).ok()?;
        let image: ImageRef = image.parse().ok()?;
        let digest = image.digest()?.clone();
        Some(Self {
            scheduler,
            reference: reference.parse().ok()?,
            catalog_name,
            image: PinnedRef::new(image.repository().clone(), digest),
            args,
            allow_unsigned,
            environment,
        })
    }

    /// Atomic, also when the power is cut.
    pub(crate) fn save(&self, root: &HostRoot, unit: &str) -> Result<(), EnabledError> {
        let (folder, path) = (root.path(FOLDER), root.path(&file(unit)));
        let write = || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(&folder)?;
            atomic_file::write(&path, self.document().as_bytes(), 0o600)
        };
        write().map_err(|source| EnabledError::Unwritable {
            path: path.clone(),
            source,
        })
    }

    fn document(&self) -> String {
        let Self {
            scheduler,
            reference,
            catalog_name,
            image,
            args,
            allow_unsigned,
            environment,
        } = self.clone();
        let document = Document {
            scheduler,
            reference: reference.to_string(),
            catalog_name,
            image: image.to_string(),
            args,
            allow_unsigned,
            environment,
        };
        let value = serde_json::json!(document);
        format!("{value:#}\n")
    }
}

/// Succeeds if nothing was kept.
pub(crate) fn delete(root: &HostRoot, unit: &str) -> Result<(), EnabledError> {
    let path = root.path(&file(unit));
    match fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(EnabledError::Unwritable { path, source })
        }
        _ => Ok(()),
    }
}

/// The images that units start. Fails if one of them is not known.
pub(crate) fn pinned_digests(root: &HostRoot) -> Result<Vec<Digest>, EnabledError> {
    let all = EnabledScheduler::read_all(root)?.into_iter();
    Ok(all.map(|enabled| enabled.image.digest().clone()).collect())
}

/// The files of all units.
pub(crate) fn files(root: &HostRoot) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root.path(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let unit = name.and_then(|name| name.strip_suffix(SUFFIX));
        unit.is_some_and(systemd_unit::is_instance)
    });
    paths.sort();
    Ok(paths)
}

/// Leaves out proxies with a password, and returns their names.
pub(crate) fn without_secrets(
    mut environment: BTreeMap<String, String>,
) -> (BTreeMap<String, String>, Vec<String>) {
    let secret = |(name, value): &(&String, &String)| {
        name.to_ascii_lowercase().ends_with("_proxy") && value.contains('@')
    };
    let left_out: Vec<String> = environment
        .iter()
        .filter(secret)
        .map(|(name, _)| name.clone())
        .collect();
    environment.retain(|name, _| !left_out.contains(name));
    (environment, left_out)
}

fn file(unit: &str) -> String {
    format!("{FOLDER}/{unit}{SUFFIX}")
}

fn unreadable(path: PathBuf, source: ReadError) -> EnabledError {
    EnabledError::Unreadable { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn enabled() -> EnabledScheduler {
        let digest = format!("sha256:{}", "a".repeat(64)).parse().unwrap();
        let reference: ImageRef = "a.example/team/one:1.0".parse().unwrap();
        EnabledScheduler {
            scheduler: "scx_one".to_owned(),
            catalog_name: Some("scx_one".to_owned()),
            image: PinnedRef::new(reference.repository().clone(), digest),
            reference,
            args: vec!["--slice us".to_owned(), "\"%n\" $x".to_owned()],
            allow_unsigned: false,
            environment: [("HTTPS_PROXY".to_owned(), "http://p:1".to_owned())].into(),
        }
    }

    #[test]
    fn what_is_kept_is_read_back_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let root = HostRoot::at(folder.path());
        let unit = systemd_unit::instance("a.example/team/one");
        let read = || EnabledScheduler::read(&root, "a.example/team/one");
        assert_eq!(read().unwrap(), None);
        enabled().save(&root, &unit).unwrap();
        enabled().save(&root, &unit).unwrap();
        assert_eq!(read().unwrap(), Some(enabled()));
        let files = fs::read_dir(root.path(FOLDER)).unwrap();
        assert_eq!(files.count(), 1);
        fs::write(root.path(FOLDER).join("notes.json"), "").unwrap();
        assert_eq!(EnabledScheduler::read_all(&root).unwrap(), [enabled()]);
        delete(&root, &unit).unwrap();
        delete(&root, &unit).unwrap();
        assert_eq!(read().unwrap(), None);
        assert!(EnabledScheduler::read_all(&root).unwrap().is_empty());
    }

    #[test]
    fn a_file_that_others_may_write_to_or_that_is_damaged_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let root = HostRoot::at(folder.path());
        let unit = systemd_unit::instance("scx_one");
        enabled().save(&root, &unit).unwrap();
        let path = root.path(&file(&unit));
        let read = || EnabledScheduler::read(&root, "scx_one").unwrap_err();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o602)).unwrap();
        assert!(matches!(read(), EnabledError::Untrusted(_)));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "{").unwrap();
        assert!(matches!(read(), EnabledError::Invalid(_)));
        assert!(EnabledScheduler::read_all(&root).is_err());
        fs::write(&path, "x".repeat(MAX_BYTES + 1)).unwrap();
        assert!(matches!(read(), EnabledError::Unreadable { .. }));
    }

    #[test]
    fn a_proxy_with_a_password_is_not_kept() {
        let environment = [
            ("HTTPS_PROXY", "http://me:secret@p:1"),
            ("http_proxy", "http://p:1"),
            ("SCHEDCTL_CONFIG", "/a@b"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (kept, left_out) = without_secrets(environment.into());
        assert_eq!(left_out, ["HTTPS_PROXY"]);
        let kept: Vec<&str> = kept.keys().map(String::as_str).collect();
        assert_eq!(kept, ["SCHEDCTL_CONFIG", "http_proxy"]);
    }
}
