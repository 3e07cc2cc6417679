//! What the trust policy says about an image, as `schedctl verify` prints it.

use std::fmt;

use anstyle::{AnsiColor, Style};
use schedkit_core::PinnedRef;
use schedkit_image::catalog::Resolution;
use schedkit_image::signature::{Evidence, Format, RefusedSignature, SignatureId};
use schedkit_image::signature::{Signer, Verified, VerifyError};
use schedkit_image::trust::{Policy, RootOrigin};
use serde::Serialize;

use super::provenance::FoundIn;
use super::{Document, sentence, table};
use crate::request::PolicySource;

const ACCEPTED: Style = AnsiColor::Green.on_default().bold();
const REFUSED: Style = AnsiColor::Red.on_default().bold();

#[derive(Serialize)]
pub(crate) struct Verdict {
    scheduler: String,
    source: FoundIn,
    image_ref: String,
    /// What was judged; whoever runs this digest runs what was judged.
    digest: String,
    policy: PolicyUsed,
    #[serde(flatten)]
    outcome: Outcome,
}

/// Which policy judged.
#[derive(Serialize)]
struct PolicyUsed {
    /// Its file; nothing for the built-in one.
    path: Option<String>,
    /// The same for every policy that decides the same.
    fingerprint: String,
    /// The Sigstore instance that it rests on.
    trusted_root: RootUsed,
}

/// Which Sigstore instance a policy rests on.
#[derive(Serialize)]
#[serde(tag = "origin", rename_all = "kebab-case")]
enum RootUsed {
    /// The public one, as it was when the program was made.
    PublicGood { taken: String },
    /// One that the policy names.
    File { path: String },
}

impl fmt::Display for RootUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PublicGood { taken } => write!(f, "Sigstore's public instance of {taken}"),
            Self::File { path } => f.write_str(path),
        }
    }
}

/// What it says.
#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
enum Outcome {
    Accepted {
        signer: Signer,
        /// The line of the policy that accepts the signer.
        rule: String,
        signature: SignatureId,
        evidence: Evidence,
    },
    Refused {
        reason: String,
        candidates: Vec<RefusedSignature>,
    },
}

impl Verdict {
    /// The answer to be printed. That there is none comes back as the error it was.
    pub(crate) fn of(
        found: &Resolution,
        image: &PinnedRef,
        policy: (&PolicySource, &Policy),
        answer: Result<Verified, VerifyError>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            scheduler: found.scheduler().to_owned(),
            source: found.into(),
            image_ref: found.image().to_string(),
            digest: image.digest().to_string(),
            policy: PolicyUsed::from(policy),
            outcome: Outcome::of(answer)?,
        })
    }

    /// Whether the image may run.
    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self.outcome, Outcome::Accepted { .. })
    }
}

impl Outcome {
    fn of(answer: Result<Verified, VerifyError>) -> anyhow::Result<Self> {
        match answer {
            Ok(verified) => Ok(Self::Accepted {
                signer: verified.signer().clone(),
                rule: verified.rule().to_string(),
                signature: verified.signature().clone(),
                evidence: verified.evidence().clone(),
            }),
            Err(VerifyError::Refused { signatures, .. }) => Ok(Self::Refused {
                reason: "no signature is accepted".to_owned(),
                candidates: signatures,
            }),
            Err(error) if error.is_refusal() => Ok(Self::Refused {
                reason: sentence(&error),
                candidates: Vec::new(),
            }),
            Err(trouble) => Err(trouble.into()),
        }
    }
}

impl From<(&PolicySource, &Policy)> for PolicyUsed {
    fn from((source, policy): (&PolicySource, &Policy)) -> Self {
        let path = match source {
            PolicySource::BuiltIn => None,
            PolicySource::File(path) => Some(path.display().to_string()),
        };
        let trusted_root = match policy.root().origin() {
            RootOrigin::PublicGood { taken } => RootUsed::PublicGood {
                taken: taken.to_string(),
            },
            RootOrigin::File(path) => RootUsed::File {
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

impl Document for Verdict {
    fn text(&self) -> String {
        let policy = self.policy.path.as_deref().unwrap_or("built-in");
        let mut rows = vec![
            ("Image", Some(self.image_ref.clone())),
            ("Digest", Some(self.digest.clone())),
            ("Policy", Some(policy.to_owned())),
            ("Trusted root", Some(self.policy.trusted_root.to_string())),
        ];
        match &self.outcome {
            Outcome::Accepted {
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
                    ("Form", Some(form(evidence.format).to_owned())),
                    ("Log entry", log_entry(evidence)),
                ]);
                table::fields(&rows)
            }
            Outcome::Refused { reason, candidates } => {
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

fn form(format: Format) -> &'static str {
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
