//! The audit log: a line of JSON for each image that root let run, or did not: what was asked for,
//! which bytes that was, who signed them or what waived the signature, and who was logged in. It
//! outlives containers and their labels, and nothing here shortens it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::Context;
use jiff::Timestamp;
use rustix::fs::OFlags;
use schedkit_core::ImageRef;
use schedkit_image::signature::Trusted;
use serde::Serialize;

use crate::untrusted_image::UntrustedImage;

const SYSTEM_FILE: &str = "/var/log/schedctl/audit.log";
/// What the kernel says of a process that nobody's login has started.
const NO_LOGIN: u32 = u32::MAX;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditLog {
    path: PathBuf,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Line {
    time: Timestamp,
    verdict: Verdict,
    /// As it was asked for.
    asked: String,
    /// With the digest.
    image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    /// Fingerprint of the trust policy that accepted the signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// What allowed an image without an accepted signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who had logged in: `sudo` does not change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    login_uid: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Accepted,
    /// A verdict from before, which needed no registry.
    Kept,
    Waived,
    Refused,
}

impl AuditLog {
    pub(crate) fn system() -> Self {
        Self::at(SYSTEM_FILE)
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Appends a line if this is a verdict; a registry that cannot be reached, for instance, is none.
    pub(crate) fn record(
        &self,
        asked: &ImageRef,
        outcome: &anyhow::Result<Trusted>,
    ) -> anyhow::Result<()> {
        let Some(line) = Line::of(asked, outcome) else {
            return Ok(());
        };
        let appended = self.append(&line);
        appended.with_context(|| format!("cannot write to {}", self.path.display()))
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut file = self.open()?;
        // One write: what several processes append at the same time is not mixed.
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            require_own(folder.symlink_metadata()?.is_dir(), &fs::metadata(folder)?)?;
        }
        let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.custom_flags(no_link).open(&self.path)?;
        let found = file.metadata()?;
        require_own(found.is_file() && found.nlink() == 1, &found)?;
        Ok(file)
    }
}

/// Who else may write there could remove lines, or put a link in the way.
fn require_own(is_right_kind: bool, found: &fs::Metadata) -> io::Result<()> {
    let ours = rustix::process::geteuid().as_raw();
    match is_right_kind && found.uid() == ours && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other(
            "it or its folder does not belong to this user, is a link, or others may write to it: move \
             it away",
        )),
    }
}

impl Line {
    fn of(asked: &ImageRef, outcome: &anyhow::Result<Trusted>) -> Option<Self> {
        let line = Self {
            time: Timestamp::now(),
            verdict: Verdict::Refused,
            asked: asked.to_string(),
            image: String::new(),
            signer: None,
            policy: None,
            waiver: None,
            reason: None,
            login_uid: login_uid(),
        };
        let trusted = match outcome {
            Ok(trusted) => trusted,
            Err(error) => {
                let refused = error.downcast_ref::<UntrustedImage>()?;
                return Some(Self {
                    image: refused.image.clone(),
                    reason: Some(refused.reason.clone()),
                    ..line
                });
            }
        };
        let line = Self {
            image: trusted.image().to_string(),
            ..line
        };
        Some(match trusted {
            Trusted::Verified(verified) => Self {
                verdict: Verdict::Accepted,
                signer: Some(verified.signer().to_string()),
                policy: Some(verified.policy().to_string()),
                ..line
            },
            Trusted::Kept(kept) => Self {
                verdict: Verdict::Kept,
                signer: Some(kept.signer().to_owned()),
                policy: Some(kept.policy().to_string()),
                ..line
            },
            Trusted::Waived(waived) => Self {
                verdict: Verdict::Waived,
                waiver: Some(waived.reason().to_owned()),
                ..line
            },
        })
    }
}

fn login_uid() -> Option<u32> {
    let text = fs::read_to_string("/proc/self/loginuid").ok()?;
    let uid = text.trim().parse().ok()?;
    (uid != NO_LOGIN).then_some(uid)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use schedkit_core::PinnedRef;
    use schedkit_image::signature::waive;

    use super::*;

    const IMAGE: &str = "registry.example/team/scx_a";

    fn asked() -> ImageRef {
        format!("{IMAGE}:1.0").parse().unwrap()
    }

    fn waived() -> anyhow::Result<Trusted> {
        let image: ImageRef = format!("{IMAGE}@sha256:{}", "a".repeat(64))
            .parse()
            .unwrap();
        let digest = image.digest().unwrap().clone();
        let pinned = PinnedRef::new(image.repository().clone(), digest);
        Ok(waive(pinned, "--allow-unsigned").into())
    }

    fn refused() -> anyhow::Result<Trusted> {
        Err(UntrustedImage {
            image: format!("{IMAGE}@sha256:{}", "b".repeat(64)),
            reason: "no \"signature\"\n".to_owned(),
        }
        .into())
    }

    #[test]
    fn each_verdict_is_one_line_and_trouble_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log/audit.log");
        let log = AuditLog::at(&path);
        log.record(&asked(), &waived()).unwrap();
        log.record(&asked(), &refused()).unwrap();
        log.record(&asked(), &Err(anyhow::anyhow!("no route")))
            .unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let [waived, refused] = &*lines else {
            panic!("{text}");
        };
        assert_eq!(waived["verdict"], "waived");
        assert_eq!(waived["waiver"], "--allow-unsigned");
        assert_eq!(waived["asked"], format!("{IMAGE}:1.0"));
        assert_eq!(refused["verdict"], "refused");
        assert_eq!(refused["reason"], "no \"signature\"\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_others_may_have_changed_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let log = AuditLog::at(&path);
        log.record(&asked(), &waived()).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o622)).unwrap();
        log.record(&asked(), &waived()).unwrap_err();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&path, folder.path().join("second")).unwrap();
        log.record(&asked(), &waived()).unwrap_err();
        fs::remove_file(&path).unwrap();
        symlink(folder.path().join("second"), &path).unwrap();
        log.record(&asked(), &waived()).unwrap_err();
        fs::remove_file(&path).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        log.record(&asked(), &waived()).unwrap_err();
        let second = fs::read_to_string(folder.path().join("second")).unwrap();
        assert_eq!(second.lines().count(), 1);
    }
}
