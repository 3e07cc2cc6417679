//! What the verdicts mean for a SchedExt: what its status accepts from now on, and what it says.
//!
//! Fail closed on trust: only an accepted verdict adds an image. Fail static on everything else: a
//! refusal, and trouble with a registry or with the policy, remove nothing.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schedkit_core::sanitize;
use sked_api::{Accepted, AcceptedImage, Reason, VerificationState};

use super::image::{images, is_pinned};
use super::known::{Known, Standing, Verdict};
use crate::rollout::good::fields;

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) accepted: Option<Accepted>,
    pub(crate) state: VerificationState,
    pub(crate) reason: Reason,
    /// What is so, why, and what to do.
    pub(crate) message: String,
}

/// What was found about the images, by kind.
#[derive(Default)]
struct Findings {
    refused: Vec<String>,
    violated: Vec<String>,
    trouble: Vec<String>,
    /// Images of which nothing is known yet.
    unknown: Vec<String>,
}

/// What an image is that was accepted before.
#[derive(Clone, Copy)]
enum Kind {
    /// The spec asks for it, and it does not run: a roll-out has not begun, or failed.
    Asked,
    Running,
}

impl Findings {
    fn add(&mut self, standing: Standing, kind: Kind) {
        match (standing, kind) {
            (Standing::Refused(why), Kind::Asked) => self.refused.push(why),
            (Standing::Refused(why), Kind::Running) => self.violated.push(why),
            (Standing::Unknown(why), _) => self.trouble.extend(why),
            (Standing::Accepted, _) => {}
        }
    }
}

/// `running`: the images that run, by their digests.
pub(crate) fn judge(known: &Known, running: &BTreeSet<String>) -> Judged {
    let status = known.asked.status.as_ref();
    let before = status.and_then(|status| status.accepted.clone());
    let mut findings = Findings::default();
    let spec = fields(&known.asked);
    let asked = Asked {
        known,
        before: before.as_ref(),
        is_new: before.as_ref().is_none_or(|before| before.spec != spec),
    };
    let candidates = images(&known.asked).into_iter();
    let candidates: Vec<_> = candidates
        .map(|image| asked.candidate(image, &mut findings))
        .collect();
    // A spec is accepted as a whole: no tag moves alone.
    let moves = candidates.iter().all(|one| !one.stays);
    let images = candidates.into_iter().map(|one| match one.pinned {
        Some(pinned) if moves => Some(one.found.unwrap_or(pinned)),
        Some(pinned) => Some(pinned),
        None => one.found,
    });
    let mut accepted = match images.collect() {
        Some(images) => Some(Accepted {
            spec: spec.clone(),
            images,
        }),
        None => before,
    };
    for image in accepted.iter_mut().flat_map(|one| &mut one.images) {
        judge_again(known, image);
        if !running.contains(&image.resolved) {
            findings.add(known.standing(&image.resolved), Kind::Asked);
        }
    }
    for image in running {
        findings.add(known.standing(image), Kind::Running);
    }
    let is_current = accepted.as_ref().is_some_and(|one| one.spec == spec);
    let goes_on = match (accepted.is_some() && !running.is_empty(), is_current) {
        (false, _) => "nothing of it is written to the nodes",
        (true, false) => "the last spec that was accepted runs on",
        (true, true) => "what was accepted before runs on",
    };
    let accepted_now = accepted.as_ref().filter(|_| is_current);
    let (state, reason, message) = verdict(known, &findings, accepted_now, goes_on);
    Judged {
        accepted,
        state,
        reason,
        message,
    }
}

/// What the spec asks for.
struct Asked<'a> {
    known: &'a Known,
    before: Option<&'a Accepted>,
    /// It differs from the one that was accepted before.
    is_new: bool,
}

/// An image that the spec names.
struct Candidate {
    /// What was accepted for it before.
    pinned: Option<AcceptedImage>,
    /// What is accepted for it now.
    found: Option<AcceptedImage>,
    /// It is pinned, and what its tag names by now is not accepted.
    stays: bool,
}

impl Asked<'_> {
    fn candidate(&self, image: &str, findings: &mut Findings) -> Candidate {
        let known = self.known;
        let pinned = self.pinned(image, findings);
        let is_tag = !is_pinned(image);
        let moves = pinned.is_none() || (is_tag && (known.is_refreshed || known.follows_tags));
        let is_told = moves || (is_tag && known.tells_tags);
        let verdict = known.verdicts.get(image).filter(|_| is_told);
        match verdict {
            Some(Verdict::Accepted { .. }) => {}
            Some(Verdict::Refused(why) | Verdict::Unsigned(why)) => {
                findings.refused.push(why.clone());
            }
            Some(Verdict::Trouble(why)) => findings.trouble.push(why.clone()),
            None if pinned.is_none() => findings.unknown.push(image.to_owned()),
            None => {}
        }
        let found = verdict.filter(|_| moves).and_then(|verdict| {
            let found = accepted_image(image, verdict)?;
            // What did not change is not written again.
            let same =
                |one: &&AcceptedImage| one.resolved == found.resolved && one.policy == found.policy;
            let old = pinned.as_ref().filter(same).cloned();
            Some(old.unwrap_or(found))
        });
        Candidate {
            stays: pinned.is_some() && moves && is_tag && found.is_none(),
            pinned,
            found,
        }
    }

    /// What was accepted for an image before. Other arguments, and other nodes, are rolled out: not with
    /// an image that the policy does not accept any more.
    fn pinned(&self, image: &str, findings: &mut Findings) -> Option<AcceptedImage> {
        let mut pinned = self.before.into_iter().flat_map(|before| &before.images);
        let pinned = pinned.find(|one| one.image == image)?;
        if self.is_new {
            let standing = self.known.standing(&pinned.resolved);
            let is_accepted = standing == Standing::Accepted;
            findings.add(standing, Kind::Asked);
            return is_accepted.then(|| pinned.clone());
        }
        Some(pinned.clone())
    }
}

fn accepted_image(image: &str, verdict: &Verdict) -> Option<AcceptedImage> {
    let Verdict::Accepted {
        resolved,
        signer,
        policy,
        at,
    } = verdict
    else {
        return None;
    };
    Some(AcceptedImage {
        image: image.to_owned(),
        resolved: resolved.clone(),
        signer: sanitize::shortened(signer, LONGEST_SIGNER),
        policy: policy.clone(),
        verified_at: Time(*at),
    })
}

/// The limit of the field, in characters.
const LONGEST_SIGNER: usize = 1000;

/// Notes who signed it, if the policy as it is now accepts it, too.
fn judge_again(known: &Known, image: &mut AcceptedImage) {
    if let Some(Verdict::Accepted {
        signer, policy, at, ..
    }) = known.verdicts.get(&image.resolved)
        && *policy != image.policy
    {
        image.signer = sanitize::shortened(signer, LONGEST_SIGNER);
        image.policy.clone_from(policy);
        image.verified_at = Time(*at);
    }
}

fn verdict(
    known: &Known,
    findings: &Findings,
    accepted: Option<&Accepted>,
    goes_on: &str,
) -> (VerificationState, Reason, String) {
    if let Some(why) = listed(&findings.violated) {
        let besides = listed(&findings.refused).filter(|refused| *refused != why);
        let besides = besides.map_or_else(String::new, |refused| format!("; besides, {refused}"));
        let end = match known.enforces {
            true => "it is taken off the nodes once it is known what follows (--enforce-running)",
            false => "it runs on (without --enforce-running)",
        };
        let message = format!(
            "the trust policy refuses what runs: {why}; {end}: name a signed image in spec.sched, or \
             change the policy{besides}"
        );
        return (VerificationState::Violated, Reason::PolicyViolated, message);
    }
    if let Some(why) = listed(&findings.refused) {
        let message = format!(
            "{why}; {goes_on}: sign the image, name another one in spec.sched, or change the trust policy"
        );
        return (VerificationState::Refused, Reason::ImageRefused, message);
    }
    if let Some(why) = known.policy.trouble() {
        let why = sanitize::shortened(why, LONGEST_REASON);
        let message = format!(
            "the trust policy cannot be read: {why}; {goes_on}: correct the file of --trust-policy"
        );
        return (
            VerificationState::Unknown,
            Reason::PolicyUnreadable,
            message,
        );
    }
    if let Some(why) = listed(&findings.trouble) {
        let message = format!("{why}; {goes_on}, and sked tries again");
        return (VerificationState::Unknown, Reason::CannotVerify, message);
    }
    if let Some(accepted) = accepted {
        return (
            VerificationState::Verified,
            Reason::Verified,
            signers(accepted),
        );
    }
    let images = findings.unknown.join(", ");
    let message = format!("{images}: being verified; {goes_on}");
    (VerificationState::Unknown, Reason::Verifying, message)
}

/// Of one finding.
const LONGEST_REASON: usize = 1000;

/// The first, and how many more there are.
fn listed(findings: &[String]) -> Option<String> {
    let first = sanitize::shortened(findings.first()?, LONGEST_REASON);
    Some(match findings.len() - 1 {
        0 => first,
        more => format!("{first} (and {more} more)"),
    })
}

fn signers(accepted: &Accepted) -> String {
    let images = accepted.images.iter().map(|one| {
        format!(
            "{} was signed by {}, accepted at {} by the policy {}",
            one.resolved, one.signer, one.verified_at.0, one.policy
        )
    });
    images.collect::<Vec<_>>().join("; ")
}
