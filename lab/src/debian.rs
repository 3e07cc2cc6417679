//! Debian packages: those that are installed on this machine, and those that are only unpacked into
//! the cache.
//!
//! The latter are fetched with separate apt lists and sources, so that those of this machine stay as
//! they are. The mirror is the one that this machine uses.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Cache, CacheError};
use crate::command::{self, CommandError};

/// The release that the nodes run: the first whose backports have sched_ext kernels.
pub const SUITE: &str = "trixie";

/// The keys that Debian signs its archive with, as this machine has them.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    #[error(
        "apt on this machine has no Debian mirror configured: the lab needs Debian 12 or later with its package sources"
    )]
    NoMirror,
    #[error(
        "cannot reach the Debian archive: check this machine's network and proxy, then try again; nothing was changed"
    )]
    Unreachable(#[source] CommandError),
    #[error(
        "cannot install {packages} on this machine: run `apt-get install {packages}` to see why"
    )]
    Install {
        packages: String,
        source: CommandError,
    },
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(
        "cannot write the lab's apt configuration to the cache: check that the disk is not full"
    )]
    Io(#[from] io::Error),
}

/// Which of these packages are not installed on this machine.
pub fn missing_packages(wanted: &[&str]) -> Vec<String> {
    let installed = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\n"])
        .args(wanted)
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    wanted
        .iter()
        .filter(|package| {
            !installed
                .lines()
                .any(|line| line == format!("{package} installed"))
        })
        .map(|package| (*package).to_owned())
        .collect()
}

/// Installs packages on this machine. First completes an installation that was killed.
pub fn install(cache: &Cache, packages: &[String]) -> Result<(), DebianError> {
    let _lock = cache.lock("apt-install")?;
    let log = cache.log("apt-install");
    command::run(Command::new("dpkg").args(["--configure", "-a"]), &log)?;
    command::run(apt_get().arg("update"), &log).map_err(DebianError::Unreachable)?;
    command::run(
        apt_get()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages),
        &log,
    )
    .map_err(|source| DebianError::Install {
        packages: packages.join(" "),
        source,
    })
}

/// Debian's archive with separate apt lists and sources.
#[derive(Clone, Debug)]
pub struct Archive {
    folder: PathBuf,
    mirror: String,
    suites: Vec<String>,
    architecture: &'static str,
    log: PathBuf,
}

impl Archive {
    /// The nodes' release and its backports.
    pub fn of_nodes(cache: &Cache) -> Result<Self, DebianError> {
        let suites = vec![SUITE.to_owned(), format!("{SUITE}-backports")];
        Self::open(cache, "apt", suites, "amd64")
    }

    /// This machine's own release, for this processor or another.
    pub fn of_this_machine(cache: &Cache, architecture: &'static str) -> Result<Self, DebianError> {
        let suite = release()?;
        let name = format!("apt-{suite}-{architecture}");
        Self::open(cache, &name, vec![suite], architecture)
    }

    /// This machine's own release and its backports.
    pub fn of_this_machines_backports(cache: &Cache) -> Result<Self, DebianError> {
        let suite = release()?;
        let backports = format!("{suite}-backports");
        let name = format!("apt-{backports}-amd64");
        Self::open(cache, &name, vec![suite, backports], "amd64")
    }

    /// Writes its configuration to the cache; uses no network.
    fn open(
        cache: &Cache,
        name: &str,
        suites: Vec<String>,
        architecture: &'static str,
    ) -> Result<Self, DebianError> {
        let archive = Self {
            mirror: mirror()?,
            log: cache.log(name),
            folder: cache.folder(name)?,
            suites,
            architecture,
        };
        for folder in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(archive.folder.join(folder))?;
        }
        for (name, text) in [
            ("sources.list", archive.sources()),
            ("apt.conf", archive.configuration()),
        ] {
            // By rename: another lab's apt may be reading it.
            let draft = archive
                .folder
                .join(format!("{name}.{}", std::process::id()));
            fs::write(&draft, text)?;
            fs::rename(&draft, archive.folder.join(name))?;
        }
        Ok(archive)
    }

    /// The text of `sources.list`.
    pub fn sources(&self) -> String {
        let mirror = &self.mirror;
        let line = |suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n");
        self.suites.iter().map(line).collect()
    }

    /// Fetches the package lists. It is the first use of the network, hence its error.
    pub fn refresh(&self, cache: &Cache) -> Result<(), DebianError> {
        let _lock = cache.lock("apt-lists")?;
        command::run(
            self.apt("apt-get").args(["update", "--error-on=any"]),
            &self.log,
        )
        .map_err(DebianError::Unreachable)
    }

    /// Names of all packages that start with `prefix`.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, DebianError> {
        let names = command::read(self.apt("apt-cache").args(["pkgnames", prefix]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Fetches a package and unpacks its files, without running its scripts. Prefers the last suite:
    /// by default apt avoids backports.
    pub fn unpack(&self, package: &str, into: &Path) -> Result<(), DebianError> {
        let download = into.join(".download");
        fs::create_dir_all(&download)?;
        let mut apt = self.apt("apt-get");
        if let Some(preferred) = self.suites.last() {
            apt.args(["--target-release", preferred]);
        }
        command::run(
            apt.args(["download", package]).current_dir(&download),
            &self.log,
        )?;
        for file in fs::read_dir(&download)? {
            let mut dpkg = Command::new("dpkg");
            command::run(dpkg.arg("-x").arg(file?.path()).arg(into), &self.log)?;
        }
        fs::remove_dir_all(&download)?;
        Ok(())
    }

    fn apt(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.folder.join("apt.conf"));
        command
    }

    fn configuration(&self) -> String {
        let folder = self.folder.display();
        format!(
            "Dir::Etc::sourcelist \"{folder}/sources.list\";\n\
             Dir::Etc::sourceparts \"/dev/null\";\n\
             Dir::State::lists \"{folder}/lists\";\n\
             Dir::State::status \"/dev/null\";\n\
             Dir::Cache \"{folder}\";\n\
             APT::Sandbox::User \"root\";\n\
             APT::Architecture \"{}\";\n\
             APT::Architectures {{ \"{}\"; }};\n\
             Acquire::Retries \"3\";\n",
            self.architecture, self.architecture
        )
    }
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// The mirror of this machine's own release.
fn mirror() -> Result<String, DebianError> {
    let targets = command::read(Command::new("apt-get").args([
        "indextargets",
        // Also for sources whose lists were never fetched, as on a new machine.
        "--no-release-info",
        "--format",
        "$(REPO_URI) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ]))
    .map_err(|_| DebianError::NoMirror)?;
    parse_mirror(&os_release()?, &targets).ok_or(DebianError::NoMirror)
}

/// The code name of this machine's release.
pub fn release() -> Result<String, DebianError> {
    let os_release = os_release()?;
    let name = code_name(&os_release).ok_or(DebianError::NoMirror)?;
    Ok(name.to_owned())
}

fn os_release() -> Result<String, DebianError> {
    fs::read_to_string("/etc/os-release").map_err(|_| DebianError::NoMirror)
}

fn code_name(os_release: &str) -> Option<&str> {
    let name = os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(name.trim_matches('"'))
}

/// Finds the source of this machine's release, by its code name or as `stable`, with the component
/// `main`. Prefers a repository that is called `debian`: other vendors may have sources, too.
fn parse_mirror(os_release: &str, index_targets: &str) -> Option<String> {
    let code_name = code_name(os_release)?;
    let main_of = |wanted: &str| {
        let fits = |line: &&str| line.ends_with(&format!(" {wanted} main"));
        let lines = index_targets.lines().filter(fits);
        lines
            .filter_map(|line| line.split(' ').next())
            .collect::<Vec<_>>()
    };
    let called_debian = |uri: &&&str| uri.trim_end_matches('/').ends_with("/debian");
    let (by_name, as_stable) = (main_of(code_name), main_of("stable"));
    let mut debian = by_name.iter().chain(&as_stable).filter(called_debian);
    let uri = debian.next().or(by_name.first())?;
    Some((*uri).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OS_RELEASE: &str = "ID=debian\nVERSION_CODENAME=bookworm\n";

    #[test]
    fn the_mirror_is_that_of_the_running_release() {
        let targets = "http://vendor.example/linux/debian/ bookworm stable\n\
                       http://vendor.example/tools/ bookworm main\n\
                       http://security.example/debian-security/ bookworm-security main\n\
                       http://mirror.example/debian/ bookworm-updates main\n\
                       http://mirror.example/debian/ bookworm main\n";
        assert_eq!(
            parse_mirror(OS_RELEASE, targets).as_deref(),
            Some("http://mirror.example/debian/")
        );
        let stable =
            "http://vendor.example/apt/ stable main\nhttp://mirror.example/debian stable main\n";
        assert_eq!(
            parse_mirror(OS_RELEASE, stable).as_deref(),
            Some("http://mirror.example/debian")
        );
        let private = "http://cache.example/bookworm-copy/ bookworm main\n";
        assert_eq!(
            parse_mirror(OS_RELEASE, private).as_deref(),
            Some("http://cache.example/bookworm-copy/")
        );
    }

    #[test]
    fn a_machine_without_debian_sources_has_no_mirror() {
        assert_eq!(
            parse_mirror(OS_RELEASE, "http://vendor.example/apt/ stable main\n"),
            None
        );
        assert_eq!(
            parse_mirror("ID=arch\n", "http://mirror.example/debian bookworm main\n"),
            None
        );
    }

    #[test]
    fn what_is_not_installed_is_missing() {
        let missing = missing_packages(&["dpkg", "no-such-package-anywhere"]);
        assert_eq!(missing, ["no-such-package-anywhere"]);
    }
}
