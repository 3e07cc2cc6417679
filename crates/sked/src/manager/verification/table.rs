//! What is known of images, who asks about them, and which one to look at next. No I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use sked_plan::ObjectKey;
use sked_plan::image_facts::ImageFacts;
use sked_plan::verification::{Verdict, is_pinned};
use tokio::time::Instant;

use super::question::Question;
use crate::backoff::Backoff;

/// A tag that was resolved longer ago is resolved again for a spec that newly names it.
const FRESH: Duration = Duration::from_secs(300);
/// Up to a bit more than ten minutes.
const TROUBLE: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(640));
/// Somebody may sign the image: up to an hour.
const REFUSED: Backoff = Backoff::new(Duration::from_secs(60), Duration::from_secs(3840));
/// What is accepted is judged again, since keys, certificates and rules end: their times are part of a
/// policy, and its fingerprint does not change when they pass.
const ACCEPTED: Duration = Duration::from_secs(6 * 3600);
/// A registry that takes longer for an image shares the lane of those that fail.
const SLOW: Duration = Duration::from_secs(5);
/// What nobody asks about is kept up to this many, so that a roll-back needs no registry.
const MAX_UNWANTED: usize = 256;

#[derive(Default)]
pub(super) struct Table {
    wanted: HashMap<ObjectKey, Wanted>,
    known: HashMap<Question, Known>,
    /// What images say about themselves, by their digests: as long as their verdicts are kept.
    facts: HashMap<String, Arc<ImageFacts>>,
    /// The hosts whose last answer took long.
    slow: HashSet<String>,
    /// When each namespace had its last turn.
    turns: HashMap<String, Instant>,
}

/// What one SchedExt asks about.
struct Wanted {
    /// Each since when.
    questions: BTreeMap<Question, Instant>,
    /// A request to look at its tags again, and since when it is known.
    refresh: Option<(String, Instant)>,
}

struct Known {
    verdict: Verdict,
    /// The fingerprint of the policy that gave it.
    policy: String,
    /// When the look began: what it found may have changed since then.
    looked: Instant,
    /// When to look again, whatever the policy; `None` if never.
    due: Option<Instant>,
    /// Too old for a spec that newly names the tag.
    is_stale: bool,
    backoff: Backoff,
}

/// One look at an image.
pub(super) struct Look<'a> {
    /// The fingerprint of the policy.
    pub(super) policy: &'a str,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// Which image to look at next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Now(Question),
    At(Instant),
    OnChange,
}

/// Images that failed, and those of slow registries, are looked at beside the others, so that they delay
/// nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Ordinary,
    Failing,
}

impl Table {
    /// Records what a SchedExt asks about. Returns whether anything new is to be looked at.
    pub(super) fn want(
        &mut self,
        key: &ObjectKey,
        questions: BTreeSet<Question>,
        refresh: Option<&str>,
        now: Instant,
    ) -> bool {
        let before = self.wanted.get(key);
        let since = |one: &Question| before.and_then(|old| old.questions.get(one).copied());
        let new: Vec<&Question> = questions
            .iter()
            .filter(|one| since(one).is_none())
            .collect();
        let mut looks = !new.is_empty();
        for question in new {
            if let Some(known) = self.known.get_mut(question)
                && !is_pinned(&question.reference)
                && now.duration_since(known.looked) > FRESH
            {
                known.is_stale = true;
                known.due = Some(now);
            }
        }
        let known = before.and_then(|before| before.refresh.clone());
        let known = known.filter(|(text, _)| Some(text.as_str()) == refresh);
        let refresh = known.or_else(|| {
            looks |= refresh.is_some();
            refresh.map(|text| (text.to_owned(), now))
        });
        if let Some((_, since)) = &refresh {
            for question in &questions {
                if let Some(known) = self.known.get_mut(question)
                    && !is_pinned(&question.reference)
                    && known.looked < *since
                    && known.due.is_none_or(|due| due > now)
                {
                    known.due = Some(now);
                    looks = true;
                }
            }
        }
        let questions = questions.into_iter();
        let questions = questions.map(|one| (since(&one).unwrap_or(now), one));
        let wanted = Wanted {
            questions: questions.map(|(since, one)| (one, since)).collect(),
            refresh,
        };
        self.wanted.insert(key.clone(), wanted);
        looks
    }

    /// Whether all of them were looked at since the SchedExt's request to do so became known.
    pub(super) fn is_refreshed(
        &self,
        key: &ObjectKey,
        questions: impl Iterator<Item = Question>,
    ) -> bool {
        let wanted = self.wanted.get(key);
        let Some((_, since)) = wanted.and_then(|wanted| wanted.refresh.as_ref()) else {
            return false;
        };
        let mut tags = questions.filter(|one| !is_pinned(&one.reference));
        tags.all(|question| {
            let known = self.known.get(&question);
            known.is_some_and(|known| known.looked >= *since)
        })
    }

    /// What is known of these under this policy.
    pub(super) fn verdicts(
        &self,
        questions: &BTreeSet<Question>,
        policy: Option<&str>,
    ) -> impl Iterator<Item = (String, Verdict)> {
        questions.iter().filter_map(move |question| {
            let known = self.known.get(question)?;
            let is_current = policy == Some(&*known.policy) && !known.is_stale;
            is_current.then(|| (question.reference.clone(), known.verdict.clone()))
        })
    }

    /// Forgets SchedExts that do not exist any more.
    pub(super) fn retain(&mut self, exists: impl Fn(&ObjectKey) -> bool) {
        self.wanted.retain(|key, _| exists(key));
        let namespaces: HashSet<&String> = self.wanted.keys().map(|key| &key.namespace).collect();
        self.turns
            .retain(|namespace, _| namespaces.contains(namespace));
        let wanted: HashSet<&Question> = self
            .wanted
            .values()
            .flat_map(|one| one.questions.keys())
            .collect();
        let hosts: HashSet<&str> = wanted.iter().map(|one| host(&one.reference)).collect();
        self.slow.retain(|host| hosts.contains(host.as_str()));
        let unwanted = self.known.keys().filter(|one| !wanted.contains(one));
        let mut unwanted: Vec<(Instant, Question)> = unwanted
            .map(|one| (self.known[one].looked, one.clone()))
            .collect();
        unwanted.sort();
        let surplus = unwanted.len().saturating_sub(MAX_UNWANTED);
        for (_, one) in unwanted.into_iter().take(surplus) {
            self.known.remove(&one);
        }
        let known: HashSet<&String> = self.known.keys().map(|one| &one.reference).collect();
        self.facts.retain(|one, _| known.contains(one));
    }

    fn lane(&self, question: &Question) -> Lane {
        let failures = self.known.get(question).map_or(0, Known::failures);
        match failures > 0 || self.slow.contains(host(&question.reference)) {
            true => Lane::Failing,
            false => Lane::Ordinary,
        }
    }

    /// The namespaces take turns, so that nobody's images keep those of others waiting. Of one, those
    /// that failed least first, then those that wait for longest.
    pub(super) fn next(
        &mut self,
        policy: &str,
        lane: Lane,
        busy: Option<&Question>,
        now: Instant,
    ) -> Next {
        let mut first = None;
        let mut later: Option<Instant> = None;
        for (ObjectKey { namespace, .. }, wanted) in &self.wanted {
            let turn = self.turns.get(namespace).copied();
            for (question, since) in &wanted.questions {
                if self.lane(question) != lane || busy == Some(question) {
                    continue;
                }
                let known = self.known.get(question);
                let due = match known {
                    None => Some(*since),
                    Some(known) if known.policy != policy && !known.is_trouble() => {
                        Some(known.looked)
                    }
                    Some(known) => known.due,
                };
                let Some(due) = due else { continue };
                let failures = known.map_or(0, Known::failures);
                let one = (turn, failures, due, question, namespace);
                if due > now {
                    later = Some(later.map_or(due, |later| later.min(due)));
                } else if first.is_none_or(|first| one < first) {
                    first = Some(one);
                }
            }
        }
        match (first, later) {
            (Some((.., question, namespace)), _) => {
                let (question, namespace) = (question.clone(), namespace.clone());
                self.turns.insert(namespace, now);
                Next::Now(question)
            }
            (None, Some(later)) => Next::At(later),
            (None, None) => Next::OnChange,
        }
    }

    /// The verdict of this policy about an image by its digest, if it was accepted and need not be
    /// judged again.
    pub(super) fn accepted(
        &self,
        pinned: &Question,
        policy: &str,
        now: Instant,
    ) -> Option<Verdict> {
        let known = self.known.get(pinned)?;
        let is_due = known.due.is_some_and(|due| due <= now);
        (known.is_accepted_by(policy) && !is_due).then(|| known.verdict.clone())
    }

    /// Records what was found out. Returns who asks about it, if that is new to them.
    pub(super) fn record(
        &mut self,
        question: &Question,
        verdict: Verdict,
        look: &Look<'_>,
        interval: Option<Duration>,
    ) -> Vec<ObjectKey> {
        let Look {
            policy,
            began,
            ended: now,
        } = *look;
        match now.duration_since(began) > SLOW {
            true => self.slow.insert(host(&question.reference).to_owned()),
            false => self.slow.remove(host(&question.reference)),
        };
        let before = self.known.get(question);
        // Trouble takes no verdict back about what cannot change.
        let held = before.filter(|old| {
            let is_trouble = matches!(verdict, Verdict::Trouble(_));
            is_trouble && is_pinned(&question.reference) && old.is_accepted_by(policy)
        });
        let same_kind =
            |old: &&Known| std::mem::discriminant(&old.verdict) == std::mem::discriminant(&verdict);
        let failed = before.filter(same_kind).or(held).map(|old| old.backoff);
        let mut backoff = match &verdict {
            Verdict::Accepted { .. } => TROUBLE,
            Verdict::Refused(_) | Verdict::Unsigned(_) => failed.unwrap_or(REFUSED),
            Verdict::Trouble(_) => failed.unwrap_or(TROUBLE),
        };
        let due = match &verdict {
            Verdict::Accepted { .. } if is_pinned(&question.reference) => Some(now + ACCEPTED),
            Verdict::Accepted { .. } => interval.map(|interval| now + interval),
            Verdict::Refused(_) | Verdict::Unsigned(_) | Verdict::Trouble(_) => {
                Some(now + backoff.failed())
            }
        };
        let verdict = held.map_or(verdict, |old| old.verdict.clone());
        let is_news =
            before.is_none_or(|old| old.verdict != verdict || old.policy != policy || old.is_stale);
        self.known.insert(
            question.clone(),
            Known {
                verdict,
                policy: policy.to_owned(),
                looked: began,
                due,
                is_stale: false,
                backoff,
            },
        );
        let users = self.wanted.iter().filter(|(_, wanted)| {
            let waits = is_news || wanted.refresh.is_some();
            waits && wanted.questions.contains_key(question)
        });
        users.map(|(key, _)| key.clone()).collect()
    }

    /// What an image says about itself, by its digest.
    pub(super) fn facts(&self, pinned: &str) -> Option<Arc<ImageFacts>> {
        self.facts.get(pinned).cloned()
    }

    /// Records that. Returns who asks about the digest: who asks by a tag hears of its verdict.
    pub(super) fn learn(&mut self, pinned: &str, facts: Arc<ImageFacts>) -> Vec<ObjectKey> {
        self.facts.insert(pinned.to_owned(), facts);
        let users = self.wanted.iter();
        let users =
            users.filter(|(_, wanted)| wanted.questions.keys().any(|one| one.reference == pinned));
        users.map(|(key, _)| key.clone()).collect()
    }

    /// Everybody who asks about anything.
    pub(super) fn users(&self) -> Vec<ObjectKey> {
        self.wanted.keys().cloned().collect()
    }
}

impl Known {
    fn is_accepted_by(&self, policy: &str) -> bool {
        matches!(self.verdict, Verdict::Accepted { .. }) && self.policy == policy
    }

    fn is_trouble(&self) -> bool {
        matches!(self.verdict, Verdict::Trouble(_))
    }

    /// Refusals are no failures of a registry.
    fn failures(&self) -> u32 {
        match self.is_trouble() {
            true => self.backoff.failures(),
            false => 0,
        }
    }
}

/// Of an image; what is no reference is a host of its own.
fn host(reference: &str) -> &str {
    reference
        .split_once('/')
        .map_or(reference, |(host, _)| host)
}

#[cfg(test)]
mod tests;
