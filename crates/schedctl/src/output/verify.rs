//! The trust policy's verdict about an image, as `schedctl verify` prints it.

use anstyle::{AnsiColor, Style};
use schedkit_core::PinnedRef;
use schedkit_image::catalog::Resolution;
use schedkit_image::signature::{
    AcceptedAttestation, Evidence, Format, FurtherSignature, RefusedSignature, SignatureId, Signer,
    TitleCheck, Verified, VerifyError,
};
use schedkit_image::trust::Policy;
use serde::Serialize;

use super::document::Document;
use super::image_source::ImageSource;
use super::policy_document::PolicyDocument;
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
#[serde(tag = "verdict", rename_all = "kebab-case")]
enum Verdict {
    Accepted(Box<Acceptance>),
    Refused {
        reason: String,
        candidates: Vec<RefusedSignature>,
    },
}

#[derive(Serialize)]
struct Acceptance {
    signer: Signer,
    /// The entry of the policy that accepts the signer.
    rule: String,
    signature: SignatureId,
    evidence: Evidence,
    /// The policy's rule for the image.
    policy_rule: Option<String>,
    further_signatures: Vec<FurtherSignature>,
    attestations: Vec<AcceptedAttestation>,
    title: TitleCheck,
    version: Option<String>,
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
            policy: PolicyDocument::new(policy.0, policy.1),
            verdict: result.map_or_else(Verdict::refused, |verified| {
                let accepted = Acceptance::from(&verified);
                Ok(Verdict::Accepted(Box::new(accepted)))
            })?,
        })
    }

    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self.verdict, Verdict::Accepted(_))
    }
}

impl From<&Verified> for Acceptance {
    fn from(verified: &Verified) -> Self {
        Self {
            signer: verified.signer().clone(),
            rule: verified.rule().to_string(),
            signature: verified.signature().clone(),
            evidence: verified.evidence().clone(),
            policy_rule: verified.policy_rule().map(str::to_owned),
            further_signatures: verified.further_signatures().to_vec(),
            attestations: verified.attestations().to_vec(),
            title: verified.title().clone(),
            version: verified.version().map(str::to_owned),
        }
    }
}

impl Verdict {
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
            VerifyError::NotEnough { ref signatures, .. } => Ok(Self::Refused {
                candidates: signatures.clone(),
                reason: error_text::one_line(&error),
            }),
            error if error.is_refusal() => Ok(Self::Refused {
                reason: error_text::one_line(&error),
                candidates: Vec::new(),
            }),
            error => Err(error.into()),
        }
    }
}

impl Document for VerifyReport {
    fn text(&self) -> String {
        let mut rows = vec![
            ("Image", Some(self.image_ref.clone())),
            ("Digest", Some(self.digest.clone())),
            ("Policy", Some(self.policy.name().to_owned())),
            ("Trusted root", Some(self.policy.trusted_root.to_string())),
        ];
        match &self.verdict {
            Verdict::Accepted(accepted) => {
                let Acceptance {
                    signer,
                    rule,
                    signature,
                    evidence,
                    policy_rule,
                    further_signatures,
                    attestations,
                    title,
                    version,
                } = &**accepted;
                rows.extend([
                    ("Verdict", Some(format!("{ACCEPTED}accepted{ACCEPTED:#}"))),
                    ("Signed by", Some(signer.to_string())),
                    ("Accepted by", Some(rule.clone())),
                    ("Signature", Some(signature.to_string())),
                    ("Format", Some(format_name(evidence.format).to_owned())),
                    ("Log entry", log_entry(evidence)),
                    ("Rule", policy_rule.clone()),
                    ("Title", title_text(title)),
                    ("Version", version.clone()),
                ]);
                rows.extend(further_signatures.iter().map(|one| {
                    let text = format!("{} ({})", one.signer, one.rule);
                    ("Also signed by", Some(text))
                }));
                rows.extend(attestations.iter().map(|one| {
                    let text = format!("{} by {}", one.predicate_type, one.signer);
                    ("Attestation", Some(text))
                }));
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

/// `None` if no name was asked for, or the policy does not compare it.
fn title_text(title: &TitleCheck) -> Option<String> {
    match title {
        TitleCheck::Matches { name } => Some(format!("{name}, as it was asked for")),
        TitleCheck::NoTitle { name } => {
            Some(format!("none: only the reference says that it is {name}"))
        }
        TitleCheck::NotChecked => None,
    }
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
