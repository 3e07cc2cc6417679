//! The trust policy's verdict about an image, as `schedctl verify` prints it.

use std::fmt;

use anstyle::{AnsiColor, Style};
use schedkit_core::PinnedRef;
use schedkit_image::catalog::Resolution;
use schedkit_image::signature::{Evidence, Format, RefusedSignature, SignatureId};
use schedkit_image::signature::{Signer, Verified, VerifyError};
use schedkit_image::trust::{Policy, RootOrigin};
use serde::Serialize;

use super::document::Document;
use super::image_source::ImageSource;
use super::table;
use crate::error_text;
use crate::settings::PolicySource;

const ACCEPTED: Style = AnsiColor::Green.on_default().bold();
const REFUSED: Style = AnsiColor::Red.on_default().bold();

#[derive(Serialize)]
pub(crate) struct VerifyReport {
    scheduler: String,
    source: ImageSource,
    image_ref: String,
    /// What was verified.
    digest: String,
    policy: PolicyDocument,
    #[serde(flatten)]
    verdict: Verdict,
}

#[derive(Serialize)]
struct PolicyDocument {
    /// `null` for the built-in policy.
    path: Option<String>,
    /// Equal for policies that decide the same.
    fingerprint: String,
    trusted_root: RootDocument,
}

/// The Sigstore instance whose signatures the policy accepts.
#[derive(Serialize)]
#[serde(tag = "origin", rename_all = "kebab-case")]
enum RootDocument {
    /// The public instance, as of the build of this program.
    PublicGood {
        taken: String,
    },
    File {
        path: String,
    },
}

impl fmt::Display for RootDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublicGood { taken } => write!(f, "Sigstore's public instance of {taken}"),
            Self::File { path } => f.write_str(path),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
enum Verdict {
    Accepted {
        signer: Signer,
        /// The entry of the policy that accepts the signer.
        rule: String,
        signature: SignatureId,
        evidence: Evidence,
    },
    Refused {
        reason: String,
        candidates: Vec<RefusedSignature>,
    },
}

impl VerifyReport {
    /// Fails if there is no verdict, because of an error.
    pub(crate) fn new(
        found: &Resolution,
        image: &PinnedRef,
        policy: (&PolicySource, &Policy),
        result: Result<Verified, VerifyError>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            scheduler: found.scheduler().to_owned(),
            source: found.into(),
            image_ref: found.image().to_string(),
            digest: image.digest().to_string(),
            policy: policy.into(),
            verdict: result.map_or_else(Verdict::refused, |verified| {
                Ok(Verdict::accepted(&verified))
            })?,
        })
    }

    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self.verdict, Verdict::Accepted { .. })
    }
}

impl Verdict {
    fn accepted(verified: &Verified) -> Self {
        Self::Accepted {
            signer: verified.signer().clone(),
            rule: verified.rule().to_string(),
            signature: verified.signature().clone(),
            evidence: verified.evidence().clone(),
        }
    }

    /// An error that is not a refusal is no verdict.
    fn refused(error: VerifyError) -> anyhow::Result<Self> {
        match error {
            VerifyError::Refused {
                signatures: candidates,
                ..
            } => Ok(Self::Refused {
                reason: "no signature is accepted".to_owned(),
                candidates,
            }),
            error if error.is_refusal() => Ok(Self::Refused {
                reason: error_text::one_line(&error),
                candidates: Vec::new(),
            }),
            error => Err(error.into()),
        }
    }
}

impl From<(&PolicySource, &Policy)> for PolicyDocument {
    fn from((source, policy): (&PolicySource, &Policy)) -> Self {
        let path = match source {
            PolicySource::BuiltIn => None,
            PolicySource::File(path) => Some(path.display().to_string()),
        };
        let trusted_root = match policy.root().origin() {
            RootOrigin::PublicGood { taken } => RootDocument::PublicGood {
                taken: taken.to_string(),
            },
            RootOrigin::File(path) => RootDocument::File {
                path: path.display().to_string(),
            },
        };
        Self {
            path,
            fingerprint: policy.fingerprint().to_string(),
            trusted_root,
        }
    }
}

impl Document for VerifyReport {
    fn text(&self) -> String {
        let policy = self.policy.path.as_deref().unwrap_or("built-in");
        let mut rows = vec![
            ("Image", Some(self.image_ref.clone())),
            ("Digest", Some(self.digest.clone())),
            ("Policy", Some(policy.to_owned())),
            ("Trusted root", Some(self.policy.trusted_root.to_string())),
        ];
        match &self.verdict {
            Verdict::Accepted {
                signer,
                rule,
                signature,
                evidence,
            } => {
                rows.extend([
                    ("Verdict", Some(format!("{ACCEPTED}accepted{ACCEPTED:#}"))),
                    ("Signed by", Some(signer.to_string())),
                    ("Accepted by", Some(rule.clone())),
                    ("Signature", Some(signature.to_string())),
                    ("Format", Some(format_name(evidence.format).to_owned())),
                    ("Log entry", log_entry(evidence)),
                ]);
                table::fields(&rows)
            }
            Verdict::Refused { reason, candidates } => {
                let verdict = format!("{REFUSED}refused{REFUSED:#}");
                rows.extend([("Verdict", Some(verdict)), ("Reason", Some(reason.clone()))]);
                let lines = candidates.iter().map(candidate);
                table::fields(&rows) + &lines.collect::<String>()
            }
        }
    }
}

fn candidate(RefusedSignature { id, refusal }: &RefusedSignature) -> String {
    format!("  {id}: {refusal}\n")
}

fn format_name(format: Format) -> &'static str {
    match format {
        Format::Bundle => "Sigstore bundle",
        Format::SimpleSigning => "simple signing",
    }
}

fn log_entry(evidence: &Evidence) -> Option<String> {
    let entry = evidence.log.as_ref()?;
    let time = evidence.integrated_time;
    let time = time.map(|time| format!(", {time}")).unwrap_or_default();
    Some(format!("{} of {}{time}", entry.index, entry.log))
}
