//! What `schedctl trust status` and `schedctl trust update` print.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_image::trust::{Anchor, FailedRefresh, Mirror, RootSource, TrustRoot};
use serde::Serialize;

use super::document::{Document, json_name};
use super::table;
use crate::error_text;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// The trusted root of policies that name none.
#[derive(Serialize)]
pub(crate) struct TrustStatus {
    origin: Origin,
    /// Why there is none.
    reason: Option<String>,
    /// Of the trusted root.
    digest: Option<String>,
    fetched_from: Option<String>,
    /// When it was last known to be the newest.
    checked_at: Option<String>,
    /// `null` if that is in the future.
    age_s: Option<u64>,
    max_age_s: Option<u64>,
    too_old: bool,
    /// When the metadata that confirms it expires.
    expires: Option<String>,
    roles: Vec<RoleDocument>,
    tuf_root: TufRootDocument,
    /// What `schedctl trust update` asks.
    mirror: Option<String>,
    last_failure: Option<FailureDocument>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    /// Inside the program.
    Embedded,
    Fetched,
    None,
}

#[derive(Serialize)]
struct RoleDocument {
    name: &'static str,
    version: u64,
    expires: String,
}

/// Where trust in the TUF repository begins.
#[derive(Serialize)]
struct TufRootDocument {
    /// `null` if it is the one of the public instance, inside the program.
    path: Option<String>,
    digest: String,
}

#[derive(Serialize)]
struct FailureDocument {
    at: String,
    mirror: String,
    reason: String,
}

/// What a status is made from.
pub(crate) struct TrustState<'a> {
    pub(crate) anchor: &'a Anchor,
    pub(crate) roots: &'a RootSource,
    pub(crate) mirror: Option<&'a Mirror>,
    pub(crate) max_age: Option<Duration>,
    pub(crate) failure: Option<FailedRefresh>,
    pub(crate) now: Timestamp,
}

#[derive(Serialize)]
pub(crate) struct TrustUpdate {
    /// Whether the trusted root has another content than before.
    result: UpdateResult,
    #[serde(flatten)]
    status: TrustStatus,
    /// Verdicts for the boot that had to be given again.
    enabled: Vec<EnabledVerdict>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UpdateResult {
    Updated,
    Unchanged,
}

/// Of an image that starts at boot.
#[derive(Serialize)]
pub(crate) struct EnabledVerdict {
    pub(crate) scheduler: String,
    /// By digest.
    pub(crate) image: String,
    pub(crate) verified: bool,
    /// Why it was not verified.
    pub(crate) reason: Option<String>,
}

impl TrustStatus {
    pub(crate) fn new(state: TrustState<'_>) -> Self {
        let TrustState {
            anchor,
            roots,
            mirror,
            max_age,
            failure,
            now,
        } = state;
        let (root, reason) = match roots.root() {
            Ok(root) => (Some(root), None),
            Err(error) => (None, Some(error_text::one_line(&*error))),
        };
        let kept = match roots {
            RootSource::Kept(kept) => Some(kept),
            RootSource::Embedded | RootSource::Nothing(_) => None,
        };
        let as_of = root.as_ref().and_then(|root| root.origin().as_of());
        let age = as_of.and_then(|as_of| Duration::try_from(now.duration_since(as_of)).ok());
        let roles = kept.iter().flat_map(|kept| kept.roles());
        let roles = roles.map(|role| RoleDocument {
            name: role.name,
            version: role.version,
            expires: role.expires.to_string(),
        });
        Self {
            origin: match (&root, kept) {
                (None, _) => Origin::None,
                (Some(_), Some(_)) => Origin::Fetched,
                (Some(_), None) => Origin::Embedded,
            },
            reason,
            digest: root
                .as_ref()
                .map(|root: &TrustRoot| root.digest().to_string()),
            fetched_from: kept.map(|kept| kept.mirror().to_owned()),
            checked_at: as_of.map(|as_of| format!("{as_of:.0}")),
            age_s: age.map(|age| age.as_secs()),
            max_age_s: max_age.map(|max_age| max_age.as_secs()),
            too_old: max_age.is_some_and(|max_age| age.is_none_or(|age| age > max_age)),
            expires: kept.map(|kept| kept.expires().to_string()),
            roles: roles.collect(),
            tuf_root: TufRootDocument {
                path: anchor.path().map(|path| path.display().to_string()),
                digest: anchor.digest().to_string(),
            },
            mirror: mirror.map(ToString::to_string),
            last_failure: failure.map(|failure| FailureDocument {
                at: format!("{:.0}", failure.at),
                mirror: failure.mirror,
                reason: failure.reason,
            }),
        }
    }

    /// Whether policies that need it may use it.
    pub(crate) fn is_usable(&self) -> bool {
        self.origin != Origin::None && !self.too_old
    }

    fn rows(&self) -> Vec<(&'static str, Option<String>)> {
        let root = match (self.origin, &self.fetched_from, &self.reason) {
            (Origin::Embedded, ..) => "the copy inside this program".to_owned(),
            (Origin::Fetched, Some(mirror), _) => format!("fetched from {mirror}"),
            (_, _, Some(reason)) => format!("none: {reason}"),
            _ => json_name(self.origin),
        };
        let checked = self.checked_at.as_ref().map(|at| match self.age_s {
            Some(age) => format!("{at} ({} ago)", span(age)),
            None => format!("{at} (in the future)"),
        });
        let tuf_root = match &self.tuf_root.path {
            Some(path) => format!("{path} ({})", self.tuf_root.digest),
            None => format!("inside this program ({})", self.tuf_root.digest),
        };
        let max_age = self.max_age_s.map(|max_age| match self.too_old {
            true => format!("{}: too old", span(max_age)),
            false => span(max_age),
        });
        let failure = self.last_failure.as_ref();
        let failure = failure.map(|one| format!("{} from {}: {}", one.at, one.mirror, one.reason));
        vec![
            ("Trusted root", Some(root)),
            ("Digest", self.digest.clone()),
            ("Checked", checked),
            ("Maximum age", max_age),
            ("Expires", self.expires.clone()),
            ("TUF root", Some(tuf_root)),
            ("Mirror", self.mirror.clone()),
            ("Last failure", failure),
        ]
    }
}

impl TrustUpdate {
    pub(crate) fn new(
        result: UpdateResult,
        status: TrustStatus,
        enabled: Vec<EnabledVerdict>,
    ) -> Self {
        Self {
            result,
            status,
            enabled,
        }
    }
}

impl Document for TrustStatus {
    fn text(&self) -> String {
        let fields = table::fields(&self.rows());
        let roles = self.roles.iter();
        let roles = roles.map(|role| {
            let version = role.version.to_string();
            [role.name.to_owned(), version, role.expires.clone()]
        });
        match self.roles.is_empty() {
            true => fields,
            false => format!(
                "{fields}\n{}",
                table::columns(["ROLE", "VERSION", "EXPIRES"], roles)
            ),
        }
    }
}

impl Document for TrustUpdate {
    fn text(&self) -> String {
        let result = match self.result {
            UpdateResult::Updated => "has new content",
            UpdateResult::Unchanged => "is confirmed, with the same content",
        };
        let enabled = self.enabled.iter().map(|one| match &one.reason {
            None => format!("{} was verified again: {}\n", one.scheduler, one.image),
            Some(reason) => format!("{} is not verified: {reason}\n", one.scheduler),
        });
        let enabled: String = enabled.collect();
        format!(
            "The trusted root {result}.\n{enabled}\n{}",
            self.status.text()
        )
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..HOUR => format!("{} min", seconds / 60),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}
