//! `[trust-root]`: where the trusted root of policies that name none comes from, and how old it may be.
//!
//! ```toml
//! [trust-root]
//! mirror = "https://mirror.example/tuf"         # or an absolute path of a folder
//! tuf-root = "/etc/schedctl/tuf-root.json"      # of another Sigstore instance than the public one
//! tuf-root-sha256 = "sha256:…"                  # of that file
//! max-age = "30d"
//! ```

use std::path::PathBuf;
use std::time::Duration;

use schedctl_args::args::root_age;
use schedkit_core::Digest;
use schedkit_image::trust::{Mirror, RootStore};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::restrictions::MACHINE_FILE;
use super::setting::{Origin, Setting};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrustRootTable {
    mirror: Option<Mirror>,
    tuf_root: Option<PinnedTufRoot>,
    pub(super) max_age: Option<Duration>,
}

/// The root of TUF of another instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinnedTufRoot {
    pub(crate) path: PathBuf,
    pub(crate) digest: Digest,
}

#[derive(Debug)]
pub(crate) struct TrustRootSettings {
    /// `None`: the public instance's, unless another instance is pinned.
    pub(crate) mirror: Setting<Option<Mirror>>,
    /// `None`: that of the public instance, which is embedded.
    pub(crate) tuf_root: Setting<Option<PinnedTufRoot>>,
    /// `None`: any.
    pub(crate) max_age: Setting<Option<Duration>>,
    /// `None` for users who cannot keep any.
    pub(crate) store: Option<RootStore>,
}

/// As it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenTable {
    mirror: Option<String>,
    tuf_root: Option<PathBuf>,
    tuf_root_sha256: Option<String>,
    max_age: Option<String>,
}

impl<'de> Deserialize<'de> for TrustRootTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenTable::deserialize(deserializer)?;
        let mirror = written.mirror.map(|text| text.parse::<Mirror>());
        let mirror = mirror.transpose().map_err(D::Error::custom)?;
        if let Some(Mirror::Folder(folder)) = &mirror
            && !folder.is_absolute()
        {
            return Err(D::Error::custom("`mirror` is a URL or an absolute path"));
        }
        let tuf_root = match (written.tuf_root, written.tuf_root_sha256) {
            (None, None) => None,
            (Some(path), Some(digest)) if path.is_absolute() => {
                let digest = digest.parse().map_err(D::Error::custom)?;
                Some(PinnedTufRoot { path, digest })
            }
            (Some(_), Some(_)) => return Err(D::Error::custom("`tuf-root` is an absolute path")),
            (Some(_), None) => return Err(D::Error::custom("`tuf-root` needs `tuf-root-sha256`")),
            (None, Some(_)) => return Err(D::Error::custom("`tuf-root-sha256` needs `tuf-root`")),
        };
        let max_age = written.max_age.map(|text| root_age(&text));
        Ok(Self {
            mirror,
            tuf_root,
            max_age: max_age.transpose().map_err(D::Error::custom)?,
        })
    }
}

impl TrustRootSettings {
    /// Nobody raises the machine's maximum age.
    pub(super) fn resolve(
        [flag, variable]: [Option<Duration>; 2],
        table: TrustRootTable,
        machines_max_age: Option<Duration>,
        from_file: impl Fn() -> Origin,
        store: Option<RootStore>,
    ) -> Self {
        let max_age = Setting::first(
            flag.map(Some),
            ("SCHEDCTL_MAX_ROOT_AGE", variable.map(Some)),
            (table.max_age.map(Some), from_file()),
            None,
        );
        let is_raised = machines_max_age
            .is_some_and(|machines| max_age.value.is_none_or(|value| value > machines));
        let TrustRootTable {
            mirror, tuf_root, ..
        } = table;
        let in_file = |is_set: bool| match is_set {
            true => from_file(),
            false => Origin::Default,
        };
        let mirrors_origin = in_file(mirror.is_some());
        let roots_origin = in_file(tuf_root.is_some());
        Self {
            mirror: Setting::new(mirror, mirrors_origin),
            tuf_root: Setting::new(tuf_root, roots_origin),
            max_age: match is_raised {
                true => Setting::new(machines_max_age, Origin::File(MACHINE_FILE.into())),
                false => max_age,
            },
            store,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config_file::ConfigFile;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    #[test]
    fn the_table_is_read_and_checked() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let file = ConfigFile::parse(&format!(
            "[trust-root]\nmirror = \"/srv/tuf\"\ntuf-root = \"/a.json\"\ntuf-root-sha256 = \"{digest}\"\n\
             max-age = \"30d\"\n"
        ));
        let expected = TrustRootTable {
            mirror: Some(Mirror::Folder("/srv/tuf".into())),
            tuf_root: Some(PinnedTufRoot {
                path: "/a.json".into(),
                digest: digest.parse().unwrap(),
            }),
            max_age: Some(30 * DAY),
        };
        assert_eq!(file.unwrap().trust_root, expected);
        for (text, why) in [
            ("mirror = \"http://a.b\"", "starts with https://"),
            ("mirror = \"srv/tuf\"", "a URL or an absolute path"),
            ("tuf-root = \"/a\"", "needs `tuf-root-sha256`"),
            ("tuf-root-sha256 = \"x\"", "needs `tuf-root`"),
            ("max-age = \"5m\"", "from 1h to 3650d"),
            ("maxage = \"30d\"", "unknown field `maxage`"),
        ] {
            let error = ConfigFile::parse(&format!("[trust-root]\n{text}\n")).unwrap_err();
            assert!(format!("{error:?}").contains(why), "{text}: {error:?}");
        }
    }

    #[test]
    fn the_machines_maximum_age_can_only_be_lowered() {
        let max_age = |flag, variable, file, machines| {
            let table = TrustRootTable {
                max_age: file,
                ..TrustRootTable::default()
            };
            let from_file = || Origin::File("/f".into());
            TrustRootSettings::resolve([flag, variable], table, machines, from_file, None).max_age
        };
        let [week, month] = [Some(7 * DAY), Some(30 * DAY)];
        let machines = Origin::File(MACHINE_FILE.into());
        for (flag, variable, file, limit, value, origin) in [
            (None, None, None, None, None, Origin::Default),
            (month, None, None, None, month, Origin::Flag),
            (week, None, month, month, week, Origin::Flag),
            (month, None, week, week, week, machines.clone()),
            (None, month, None, week, week, machines.clone()),
            (None, None, None, week, week, machines),
        ] {
            let found = max_age(flag, variable, file, limit);
            assert_eq!((found.value, found.origin), (value, origin));
        }
    }
}
