//! The digest of everything in a policy that decides, as sorted lines, each text with its length
//! before it, so that no two policies that decide differently have the same lines.

use schedkit_core::Digest;

use super::Contents;
use super::scoped_rule::{Decision, RequiredAttestation, Requirements, ScopedRule, TitleRule};
use super::signer::{Authority, PolicySigner};
use crate::hash::Hasher;
use crate::trust::pattern::Pattern;
use crate::trust::signer_policy::{Identity, LogForKeys, SignerPolicy};

/// Of a policy without rules. Kept verdicts hold it: it must not change.
pub(super) fn of_signers(signers: &SignerPolicy) -> Digest {
    let mut lines: Vec<String> = signers
        .keys()
        .iter()
        .map(|named| format!("key {}", named.key.fingerprint()))
        .chain(signers.identities().iter().map(identity_line))
        .collect();
    lines.sort();
    lines.dedup();
    lines.extend(verification_lines(signers));
    digest("schedkit trust policy 1", &lines)
}

/// Of a policy with rules. Names and order of signers and rules do not change it.
pub(super) fn of_rules(signers: &SignerPolicy, contents: &Contents) -> Digest {
    let mut lines: Vec<String> = contents
        .rules
        .iter()
        .map(|rule| {
            nested(
                &format!("rule {}", rule.scope),
                rule_lines(rule, signers, contents),
            )
        })
        .chain(
            contents
                .denied
                .iter()
                .map(|digest| format!("denied {digest}")),
        )
        .collect();
    lines.sort();
    lines.extend(verification_lines(signers));
    digest("schedkit trust policy 2", &lines)
}

fn verification_lines(signers: &SignerPolicy) -> Vec<String> {
    let reads_log = signers.log_for_keys() != LogForKeys::Optional;
    let with_root = !signers.identities().is_empty() || reads_log;
    let root = with_root.then(|| format!("root {}", signers.root().digest()));
    let log = match signers.log_for_keys() {
        LogForKeys::Optional => "keys without log".to_owned(),
        LogForKeys::ForTime => "keys with log for time".to_owned(),
        LogForKeys::Required => "keys with log".to_owned(),
    };
    root.into_iter().chain([log]).collect()
}

fn rule_lines(rule: &ScopedRule, signers: &SignerPolicy, contents: &Contents) -> Vec<String> {
    let denied = rule.denied.iter().map(|digest| format!("denied {digest}"));
    let decision = match &rule.decision {
        Decision::Refuse => vec!["refuse".to_owned()],
        Decision::Require(requirements) => requirement_lines(requirements, signers, contents),
    };
    decision.into_iter().chain(denied).collect()
}

fn requirement_lines(
    requirements: &Requirements,
    signers: &SignerPolicy,
    contents: &Contents,
) -> Vec<String> {
    let Requirements {
        signers: accepted,
        needed,
        attestations,
        minimum_version,
        title,
    } = requirements;
    let title = match title {
        TitleRule::AsAsked => "as asked",
        TitleRule::AsInCatalog => "as in the catalog",
        TitleRule::Any => "any",
    };
    let version = minimum_version.as_ref();
    let attestation = |one: &RequiredAttestation| {
        let name = format!("attestation {}", one.predicate_type);
        nested(&name, signer_lines(&one.signers, signers, contents))
    };
    signer_lines(accepted, signers, contents)
        .into_iter()
        .chain([format!("needed {needed}"), format!("title {title}")])
        .chain(version.map(|version| format!("minimum version {version}")))
        .chain(attestations.iter().map(attestation))
        .collect()
}

fn signer_lines(positions: &[usize], signers: &SignerPolicy, contents: &Contents) -> Vec<String> {
    let listed = positions.iter().filter_map(|at| contents.signers.get(*at));
    listed.map(|signer| signer_line(signer, signers)).collect()
}

fn signer_line(signer: &PolicySigner, signers: &SignerPolicy) -> String {
    let who = match signer.authority {
        Authority::Key(position) => signers
            .keys()
            .get(position)
            .map(|named| format!("key {}", named.key.fingerprint())),
        Authority::Identity(position) => signers.identities().get(position).map(identity_line),
    };
    let claims = signer.claims.iter();
    let claims = claims.map(|one| format!("claim {} {}", one.claim.name(), pattern(&one.value)));
    let ends = [
        ("not before", signer.validity.not_before),
        ("not after", signer.validity.not_after),
    ];
    let ends = ends
        .into_iter()
        .filter_map(|(name, time)| Some(format!("{name} {}", time?)));
    nested(&who.unwrap_or_default(), claims.chain(ends).collect())
}

/// A line that holds others.
fn nested(name: &str, mut lines: Vec<String>) -> String {
    lines.sort();
    let lines = lines.iter().map(|line| format!("{}:{line}", line.len()));
    format!(
        "{}:{name} {}",
        name.len(),
        lines.collect::<Vec<_>>().join(" ")
    )
}

fn identity_line(identity: &Identity) -> String {
    let (issuer, subject) = (pattern(&identity.issuer), pattern(&identity.subject));
    format!("identity {issuer} {subject}")
}

fn pattern(pattern: &Pattern) -> String {
    let (kind, text) = pattern.canonical();
    format!("{kind} {}:{text}", text.len())
}

fn digest(heading: &str, lines: &[String]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(format!("{heading}\n").as_bytes());
    for line in lines {
        hasher.update(format!("{}:{line}\n", line.len()).as_bytes());
    }
    hasher.finish()
}
