//! A kernel from Debian: the image, its configuration and a disk with its modules. Every kernel has
//! a disk of its own, so that modules of two kernels do not mix.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use schedkit_core::KernelRelease;

use crate::cache::{Cache, CacheError, Key};
use crate::command::{self, CommandError};
use crate::debian::{Archive, DebianError};
use crate::disk::{self, DiskError};
use crate::progress::Reporter;

/// Debian's flavour for virtual machines: small, and it boots without an initramfs.
const FLAVOUR: &str = "-cloud-amd64";

/// Increase it when kernels are unpacked differently.
const RECIPE: &str = "1";

/// The marker file of a kernel without modules.
const BARE: &str = "bare";

#[derive(Clone, Debug)]
pub struct Kernel {
    /// What `uname -r` prints.
    pub release: KernelRelease,
    /// The image that QEMU loads.
    pub image: PathBuf,
    /// An ext4 disk with `modules/` and `boot/`.
    pub disk: PathBuf,
    /// Without modules a node has no network and no containers, and ssh uses a serial line.
    pub modules: Modules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modules {
    Included,
    /// Debian removes the modules of older releases from its archive before the images.
    Missing,
}

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(
        "Debian offers no kernel {wanted:?}: choose a series or release with --kernel, one of {offered}"
    )]
    NoSuchKernel { wanted: String, offered: String },
    #[error(
        "Debian no longer has the modules of kernel {0}, and a node of a cluster needs them: choose another kernel with --kernel, or `--topology machine`"
    )]
    NoModules(KernelRelease),
    #[error(
        "Debian's packages of kernel {release} have no {file}: choose another kernel with --kernel"
    )]
    Incomplete {
        release: KernelRelease,
        file: &'static str,
    },
    #[error(transparent)]
    Debian(#[from] DebianError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("cannot unpack the kernel: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// The newest kernel of the series in the cache.
pub fn cached(cache: &Cache, series: &str) -> Option<Kernel> {
    let names = fs::read_dir(cache.root().join("kernel")).ok()?;
    let newest = names
        .filter_map(|entry| {
            entry
                .ok()?
                .file_name()
                .to_str()?
                .parse::<KernelRelease>()
                .ok()
        })
        .filter(|release| release.is_in_series(series) || release.as_str() == series)
        .filter(|release| cache.find(&part_name(release), &key()).is_some())
        .max()?;
    let folder = cache.find(&part_name(&newest), &key())?;
    Some(at(newest, &folder))
}

/// The newest kernel of the series in Debian's archive, whose lists must be up to date.
pub fn newest(archive: &Archive, series: &str) -> Result<KernelRelease, KernelError> {
    let offered = offered(&archive.names("linux-image-")?);
    let fits =
        |release: &&KernelRelease| release.is_in_series(series) || release.as_str() == series;
    match offered.iter().filter(fits).max() {
        Some(release) => Ok(release.clone()),
        None => Err(KernelError::NoSuchKernel {
            wanted: series.to_owned(),
            offered: series_of(&offered).join(", "),
        }),
    }
}

/// Every kernel in Debian's archive: one list per series, oldest series first, newest release first.
pub fn by_series(archive: &Archive) -> Result<Vec<Vec<KernelRelease>>, KernelError> {
    let mut releases = offered(&archive.names("linux-image-")?);
    releases.sort();
    let mut series: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for release in releases.into_iter().rev() {
        let [major, minor, _] = release.numbers();
        series.entry((major, minor)).or_default().push(release);
    }
    Ok(series.into_values().collect())
}

/// Fetches and unpacks a kernel if the cache does not have it.
pub fn make(
    cache: &Cache,
    archive: &Archive,
    reporter: &Reporter,
    release: KernelRelease,
) -> Result<Kernel, KernelError> {
    let log = cache.log("kernel");
    let folder = cache.part(&part_name(&release), &key(), reporter, |folder| {
        reporter.step(format!("fetching kernel {release}"), || {
            unpack(archive, &release, folder)?;
            let disk = folder.join("disk");
            let modules = folder
                .join("unpacked/usr/lib/modules")
                .join(release.as_str());
            if modules.join("kernel").is_dir() {
                let mut depmod = Command::new("depmod");
                depmod
                    .arg("-b")
                    .arg(folder.join("unpacked"))
                    .arg(release.as_str());
                command::run(&mut depmod, &log)?;
            } else {
                fs::create_dir_all(&modules)?;
                fs::write(folder.join(BARE), "")?;
            }
            arrange(&release, folder, &disk)?;
            disk::make(&disk, &folder.join("kernel.img"), 256, &log)?;
            fs::remove_dir_all(folder.join("unpacked"))?;
            fs::remove_dir_all(disk)?;
            Ok::<(), KernelError>(())
        })
    })?;
    Ok(at(release, &folder))
}

fn key() -> Key {
    Key::of([RECIPE])
}

fn part_name(release: &KernelRelease) -> String {
    format!("kernel/{release}")
}

fn at(release: KernelRelease, folder: &Path) -> Kernel {
    Kernel {
        release,
        image: folder.join("vmlinuz"),
        disk: folder.join("kernel.img"),
        modules: if folder.join(BARE).exists() {
            Modules::Missing
        } else {
            Modules::Included
        },
    }
}

/// Older kernels are one package; since 6.19 image and modules have packages of their own.
fn unpack(archive: &Archive, release: &KernelRelease, folder: &Path) -> Result<(), KernelError> {
    let unpacked = folder.join("unpacked");
    fs::create_dir_all(unpacked.join("usr/lib"))?;
    std::os::unix::fs::symlink("usr/lib", unpacked.join("lib"))?;
    for kind in ["image", "binary", "modules", "base"] {
        let package = format!("linux-{kind}-{release}");
        if archive.names(&package)?.contains(&package) {
            archive.unpack(&package, &unpacked)?;
        }
    }
    Ok(())
}

/// Moves image, configuration and modules to the paths that a node expects.
fn arrange(release: &KernelRelease, folder: &Path, disk: &Path) -> Result<(), KernelError> {
    let unpacked = folder.join("unpacked");
    let modules = unpacked.join("usr/lib/modules").join(release.as_str());
    let find = |file: &'static str| {
        [
            unpacked.join(format!("boot/{file}-{release}")),
            modules.join(file),
        ]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or(KernelError::Incomplete {
            release: release.clone(),
            file,
        })
    };
    fs::create_dir_all(disk.join("boot"))?;
    fs::create_dir_all(disk.join("modules"))?;
    fs::rename(find("vmlinuz")?, folder.join("vmlinuz"))?;
    // The configuration is in the package of the modules.
    if !folder.join(BARE).exists() {
        fs::copy(find("config")?, disk.join(format!("boot/config-{release}")))?;
    }
    fs::rename(&modules, disk.join("modules").join(release.as_str()))?;
    Ok(())
}

/// The kernels among a list of package names.
fn offered(packages: &[String]) -> Vec<KernelRelease> {
    packages
        .iter()
        .filter_map(|name| name.strip_prefix("linux-image-"))
        .filter(|name| name.ends_with(FLAVOUR))
        .filter_map(|name| name.parse().ok())
        .collect()
}

/// The series of these kernels, oldest first.
pub fn series_of(releases: &[KernelRelease]) -> Vec<String> {
    let mut numbers: Vec<_> = releases.iter().map(KernelRelease::numbers).collect();
    numbers.sort_unstable();
    let mut series: Vec<_> = numbers
        .iter()
        .map(|[major, minor, _]| format!("{major}.{minor}"))
        .collect();
    series.dedup();
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bootable_kernels_are_offered() {
        let names = [
            "linux-image-6.18.9+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-cloud-amd64-dbg",
            "linux-image-6.18.15+deb13-cloud-amd64-unsigned",
            "linux-image-6.18.15+deb13-amd64",
            "linux-image-cloud-amd64",
            "linux-image-7.0.4+deb13-cloud-amd64",
        ]
        .map(str::to_owned);
        let offered = offered(&names);
        assert_eq!(offered.len(), 3);
        assert_eq!(series_of(&offered), ["6.18", "7.0"]);
    }
}
