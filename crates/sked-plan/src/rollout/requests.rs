//! What a person asks for by the annotation `sked.schedkit.io/request`.

use schedkit_core::sanitize;
use sked_api::{QuarantinedNode, Request, RolloutPhase, SchedExt, label};

use super::begin::{Hold, hold};
use super::evidence::Failure;
use super::fail;
use super::record::Record;
use super::templates::is_rejected;
use super::view::View;
use crate::observed::Observed;
use crate::verification::{Standing, images};

/// Between a request and why it could not be carried out, in `status.handledRequest`.
const REFUSED: &str = " - refused: ";

/// Longer than the name of any node.
const LONGEST: usize = 300;
/// `status.handledRequest` has at most 512 characters.
const LONGEST_REASON: usize = 180;

/// What a request allows in this round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) is_promoted: bool,
    pub(super) is_forced: bool,
}

/// Answers the request to look at tags again, once that was done. It needs no claims.
pub(super) fn handle_refresh(observed: &Observed, record: &mut Record) {
    let Some(text) = pending_refresh(observed.stored(), record.handled_request.as_deref()) else {
        return;
    };
    record.handled_request = match observed.verification.refreshed() {
        None => return,
        Some(Ok(())) => Some(text),
        Some(Err(why)) => Some(format!(
            "{text}{REFUSED}{}",
            sanitize::shortened(&why, LONGEST_REASON)
        )),
    };
}

/// The request to look at tags again that has no answer yet.
pub fn pending_refresh(schedext: &SchedExt, handled: Option<&str>) -> Option<String> {
    let text = asked(schedext)?;
    let is_refresh = text.parse() == Ok(Request::Refresh);
    (is_refresh && answer(handled, &text).is_none()).then_some(text)
}

/// Whether the SchedExt still has a request to look at tags again that was refused.
pub fn has_refused_refresh(schedext: &SchedExt) -> bool {
    let status = schedext.status.as_ref();
    let handled = status.and_then(|status| status.handled_request.as_deref());
    let is_refresh = asked(schedext).is_some_and(|text| text.parse() == Ok(Request::Refresh));
    is_refresh && refusal(schedext, handled).is_some()
}

/// Carries out the request that the status does not have as handled.
pub(super) fn handle(view: &View<'_>, record: &mut Record) -> Allowed {
    let mut allowed = Allowed::default();
    let Some(text) = asked(view.schedext) else {
        return allowed;
    };
    // Without current claims nobody can tell what a request would do.
    if answer(record.handled_request.as_deref(), &text).is_some() || !view.has_claims() {
        return allowed;
    }
    if pending_refresh(view.schedext, record.handled_request.as_deref()).is_some() {
        return allowed;
    }
    let result = text
        .parse()
        .map_err(|bad: sked_api::request::BadRequest| bad.to_string());
    let result = result.and_then(|request| carry_out(view, record, &mut allowed, &request));
    record.handled_request = Some(match result {
        Ok(()) => text,
        Err(why) => format!("{text}{REFUSED}{why}"),
    });
    allowed
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    CarriedOut,
    /// It could not be carried out: why.
    Refused(&'a str),
}

/// What `status.handledRequest` says of this request; `None` while it has another one.
pub fn answer<'a>(handled: Option<&'a str>, request: &str) -> Option<Answer<'a>> {
    let rest = handled?.strip_prefix(&*stored(request))?;
    match rest.is_empty() {
        true => Some(Answer::CarriedOut),
        false => rest.strip_prefix(REFUSED).map(Answer::Refused),
    }
}

/// Of a value of `status.handledRequest`.
pub(crate) fn was_carried_out(handled: &str) -> bool {
    !handled.contains(REFUSED)
}

/// Why the request that the SchedExt has now was refused, if it was.
pub(crate) fn refusal<'a>(schedext: &SchedExt, handled: Option<&'a str>) -> Option<&'a str> {
    match answer(handled, &asked(schedext)?)? {
        Answer::Refused(why) => Some(why),
        Answer::CarriedOut => None,
    }
}

fn asked(schedext: &SchedExt) -> Option<String> {
    let annotations = schedext.metadata.annotations.as_ref()?;
    annotations.get(label::REQUEST).map(|text| stored(text))
}

/// In the form in which the status stores it.
fn stored(request: &str) -> String {
    sanitize::shortened(request.trim(), LONGEST)
}

fn goes_back(view: &View<'_>, record: &Record) -> bool {
    let good = record.last_good.as_ref();
    good.is_some_and(|good| fail::is_of(good, view.schedext))
}

fn is_refused(view: &View<'_>) -> bool {
    let standing = view.observed.verification.standing(images(view.schedext));
    matches!(standing, Standing::Refused(_))
}

fn may_be_promoted(view: &View<'_>, phase: Option<RolloutPhase>) -> Result<(), String> {
    let why = match hold(view) {
        _ if phase != Some(RolloutPhase::Canary) => "no canary runs",
        Some(Hold::Paused) => "spec.rollout.paused is set",
        Some(Hold::Unhealthy) => "too many nodes are without their scheduler: force does it anyway",
        None if !view.are_canaries_up() => {
            "the canary's kernel does not run it: force does it anyway"
        }
        None => return Ok(()),
    };
    Err(why.to_owned())
}

fn carry_out(
    view: &View<'_>,
    record: &mut Record,
    allowed: &mut Allowed,
    request: &Request,
) -> Result<(), String> {
    let phase = view.templates.phase();
    match request {
        Request::Promote => {
            may_be_promoted(view, phase)?;
            allowed.is_promoted = true;
        }
        Request::Force => {
            let may_begin = phase.is_none() && hold(view) == Some(Hold::Unhealthy);
            if !may_begin && phase != Some(RolloutPhase::Canary) {
                return Err("nothing waits that could be forced".to_owned());
            }
            *allowed = Allowed {
                is_promoted: true,
                is_forced: true,
            };
        }
        Request::Abort => match phase {
            _ if goes_back(view, record) => {
                return Err("the spec asks for the last good revision".to_owned());
            }
            Some(RolloutPhase::Canary | RolloutPhase::Rolling) => {
                let aborted = Failure {
                    node: "".into(),
                    reason: "Aborted".to_owned(),
                    message: "somebody aborted the roll-out".to_owned(),
                };
                fail::reject(view, record, &aborted);
            }
            _ => return Err("nothing is being rolled out".to_owned()),
        },
        // It was answered before, or waits for the registry.
        Request::Refresh => {}
        Request::Retry if is_refused(view) => {
            return Err("the trust policy refuses its image".to_owned());
        }
        Request::Retry if is_rejected(view.schedext) => {
            let target = crate::revision::revision(view.schedext);
            record.quarantined.retain(|one| one.revision != target);
            record.rejected = None;
            record.begin_anew();
        }
        Request::Retry => return Err("the revision of the spec was not rejected".to_owned()),
        Request::Release(node) => {
            let is_it = |one: &QuarantinedNode| one.node == *node;
            if !record.quarantined.iter().any(is_it) {
                return Err(format!("the node {node} is not quarantined"));
            }
            record.quarantined.retain(|one| !is_it(one));
            if let Some(rollout) = &mut record.rollout {
                rollout.failures.retain(|one| one.node != *node);
            }
        }
    }
    Ok(())
}
