//! The audit log: a line of JSON for each image that root let run, or did not: what was asked for,
//! which bytes that was, who signed them or what waived the signature, and who was logged in. It
//! outlives containers and their labels, and nothing here shortens it. It is a file and not the
//! journal, which takes a message without an answer: a waiver has to be refused if it is not recorded.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::Context;
use jiff::Timestamp;
use rustix::fs::OFlags;
use schedkit_core::ImageRef;
use schedkit_image::signature::{Trusted, Waived};
use schedkit_image::trust::Policy;
use schedkit_image::untrusted;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    /// Fingerprint of the trust policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// What allowed an image without an accepted signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<String>,
    /// Why it was refused, or why it was not verified.
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
    /// What was asked for is not allowed on this machine.
    Forbidden,
}

impl AuditLog {
    pub(crate) fn system() -> Self {
        Self::at(SYSTEM_FILE)
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Appends a line if this is a verdict; a registry that cannot be reached, for instance, is none.
    /// A waiver has its line by then, from [`Self::record_waiver`].
    pub(crate) fn record(
        &self,
        asked: &ImageRef,
        policy: &Policy,
        outcome: &anyhow::Result<Trusted>,
    ) -> anyhow::Result<()> {
        match Line::of_verdict(asked, policy, outcome) {
            Some(line) => self.append(&line),
            None => Ok(()),
        }
    }

    /// `why` it is not verified.
    pub(crate) fn record_waiver(
        &self,
        asked: &ImageRef,
        policy: &Policy,
        waived: &Waived,
        why: &str,
    ) -> anyhow::Result<()> {
        self.append(&Line {
            image: Some(waived.image().to_string()),
            policy: Some(policy.fingerprint().to_string()),
            waiver: Some(waived.reason().to_owned()),
            reason: Some(why.to_owned()),
            ..Line::new(Verdict::Waived, asked.to_string())
        })
    }

    /// `asked` is whatever somebody wrote.
    pub(crate) fn record_forbidden(&self, asked: &str, reason: String) -> anyhow::Result<()> {
        self.append(&Line {
            reason: Some(reason),
            ..Line::new(Verdict::Forbidden, untrusted::brief(asked))
        })
    }

    fn append(&self, line: &Line) -> anyhow::Result<()> {
        let written = self.write(line);
        written.with_context(|| format!("cannot write to {}", self.path.display()))
    }

    fn write(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut file = self.open()?;
        if is_cut(&file)? {
            text.insert(0, '\n');
        }
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
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.custom_flags(no_link).open(&self.path)?;
        let found = file.metadata()?;
        require_own(found.is_file() && found.nlink() == 1, &found)?;
        Ok(file)
    }
}

/// Whether the last line has no end, because the disk was full for instance.
fn is_cut(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else {
        return Ok(false);
    };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
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
    fn new(verdict: Verdict, asked: String) -> Self {
        Self {
            time: Timestamp::now(),
            verdict,
            asked,
            image: None,
            signer: None,
            policy: None,
            waiver: None,
            reason: None,
            login_uid: login_uid(),
        }
    }

    fn of_verdict(
        asked: &ImageRef,
        policy: &Policy,
        outcome: &anyhow::Result<Trusted>,
    ) -> Option<Self> {
        let (verdict, image, signer, reason) = match outcome {
            Ok(Trusted::Verified(verified)) => {
                let (image, signer) = (verified.image().to_string(), verified.signer().to_string());
                (Verdict::Accepted, image, Some(signer), None)
            }
            Ok(Trusted::Kept(kept)) => {
                let (image, signer) = (kept.image().to_string(), kept.signer().to_owned());
                (Verdict::Kept, image, Some(signer), None)
            }
            Ok(Trusted::Waived(_)) => return None,
            Err(error) => {
                let UntrustedImage { image, reason } = error.downcast_ref()?;
                (Verdict::Refused, image.clone(), None, Some(reason.clone()))
            }
        };
        Some(Self {
            image: Some(image),
            signer,
            policy: Some(policy.fingerprint().to_string()),
            reason,
            ..Self::new(verdict, asked.to_string())
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
    use std::path::Path;

    use schedkit_core::PinnedRef;
    use schedkit_image::signature::waive;
    use schedkit_image::untrusted::Reader;

    use super::*;

    const IMAGE: &str = "registry.example/team/scx_a";

    fn asked() -> ImageRef {
        format!("{IMAGE}:1.0").parse().unwrap()
    }

    fn policy() -> Policy {
        Policy::read(Path::new("builtin:schedkit"), Reader::User).unwrap()
    }

    fn waived() -> Waived {
        let image: ImageRef = format!("{IMAGE}@sha256:{}", "a".repeat(64))
            .parse()
            .unwrap();
        let digest = image.digest().unwrap().clone();
        let pinned = PinnedRef::new(image.repository().clone(), digest);
        waive(pinned, "--allow-unsigned")
    }

    fn record_waiver(log: &AuditLog) -> anyhow::Result<()> {
        log.record_waiver(&asked(), &policy(), &waived(), "it is not signed")
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
        record_waiver(&log).unwrap();
        for outcome in [
            Ok(waived().into()),
            refused(),
            Err(anyhow::anyhow!("no route")),
        ] {
            log.record(&asked(), &policy(), &outcome).unwrap();
        }
        let forbidden = "waivers are forbidden".to_owned();
        log.record_forbidden(&"x\n".repeat(9999), forbidden)
            .unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let [waived, refused, forbidden] = &*lines else {
            panic!("{text}");
        };
        let fingerprint = policy().fingerprint().to_string();
        assert_eq!(waived["verdict"], "waived");
        assert_eq!(waived["waiver"], "--allow-unsigned");
        assert_eq!(waived["asked"], format!("{IMAGE}:1.0"));
        assert_eq!(waived["reason"], "it is not signed");
        assert_eq!(waived["policy"], fingerprint);
        assert_eq!(refused["verdict"], "refused");
        assert_eq!(refused["reason"], "no \"signature\"\n");
        assert_eq!(refused["policy"], fingerprint);
        assert_eq!(forbidden["verdict"], "forbidden");
        assert_eq!(forbidden["reason"], "waivers are forbidden");
        assert!(forbidden["asked"].as_str().unwrap().len() < 1000);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// The disk was full in the middle of it.
    #[test]
    fn a_line_that_was_cut_does_not_swallow_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let log = AuditLog::at(&path);
        record_waiver(&log).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..20]).unwrap();
        record_waiver(&log).unwrap();
        record_waiver(&log).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, &whole[..20]));
        for line in &lines[1..] {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }

    #[test]
    fn a_file_that_others_may_have_changed_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let log = AuditLog::at(&path);
        record_waiver(&log).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o622)).unwrap();
        record_waiver(&log).unwrap_err();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&path, folder.path().join("second")).unwrap();
        record_waiver(&log).unwrap_err();
        fs::remove_file(&path).unwrap();
        symlink(folder.path().join("second"), &path).unwrap();
        record_waiver(&log).unwrap_err();
        fs::remove_file(&path).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        record_waiver(&log).unwrap_err();
        let second = fs::read_to_string(folder.path().join("second")).unwrap();
        assert_eq!(second.lines().count(), 1);
    }
}
