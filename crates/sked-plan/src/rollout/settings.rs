//! `spec.rollout` and `spec.onFailure` with their defaults.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sked_api::{FailureAction, SchedExt};

use crate::part::parts;

/// The kernel's watchdog timeout where `spec.watchdogTimeout` is not set.
const WATCHDOG: SignedDuration = SignedDuration::from_secs(30);
/// Finds a stall that begins in the first minute.
const SOAK_AFTER_WATCHDOG: SignedDuration = SignedDuration::from_secs(60);
/// The slowest known scheduler needs 80 seconds to attach on slow processors.
const ATTACH_DEADLINE: SignedDuration = SignedDuration::from_secs(180);
const EJECTIONS: usize = 3;
const WINDOW: SignedDuration = SignedDuration::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether the spec has `rollout`: every step of the roll-out is recorded before it is taken.
    pub is_staged: bool,
    pub is_paused: bool,
    /// How long a node must run the scheduler before the next one follows.
    pub soak: SignedDuration,
    /// The same for canaries; `None` without a canary.
    pub canary_soak: Option<SignedDuration>,
    pub action: FailureAction,
    pub attach_deadline: SignedDuration,
    /// How many ends within the window are too many for a node, once the revision is complete.
    pub ejections: usize,
    pub window: SignedDuration,
}

impl Settings {
    pub fn new(schedext: &SchedExt) -> Self {
        let rollout = schedext.spec.rollout.as_ref();
        let on_failure = schedext.spec.on_failure.clone().unwrap_or_default();
        let duration =
            |text: Option<&String>, default| text.and_then(|text| parse(text)).unwrap_or(default);
        let soak = match rollout {
            None => SignedDuration::ZERO,
            Some(rollout) => duration(rollout.soak.as_ref(), default_soak(schedext)),
        };
        let canary = rollout.and_then(|rollout| rollout.canary.as_ref());
        let ejections = on_failure
            .ejections
            .and_then(|number| usize::try_from(number).ok());
        Self {
            is_staged: rollout.is_some(),
            is_paused: rollout.is_some_and(|rollout| rollout.paused),
            soak,
            canary_soak: canary.map(|canary| duration(canary.soak.as_ref(), soak)),
            action: on_failure.action.unwrap_or_default(),
            attach_deadline: duration(on_failure.attach_deadline.as_ref(), ATTACH_DEADLINE),
            ejections: ejections.unwrap_or(EJECTIONS).max(1),
            window: duration(on_failure.window.as_ref(), WINDOW),
        }
    }
}

/// `spec.rollout.maxUnavailable` of this many nodes, as the DaemonSet controller computes it: at
/// least one.
pub fn max_unavailable(schedext: &SchedExt, nodes: usize) -> usize {
    let rollout = schedext.spec.rollout.as_ref();
    let limit = rollout.and_then(|rollout| rollout.max_unavailable.as_ref());
    limit.map_or(1, |limit| share(limit, nodes))
}

/// How many nodes of so many the canary of a part should have: at least one, if there is one.
pub fn canary_size(schedext: &SchedExt, nodes: usize) -> usize {
    let rollout = schedext.spec.rollout.as_ref();
    let canary = rollout.and_then(|rollout| rollout.canary.as_ref());
    let size = canary.and_then(|canary| canary.nodes.as_ref());
    size.map_or(1, |size| share(size, nodes)).min(nodes)
}

/// A number, or a percentage rounded up; at least one.
fn share(limit: &IntOrString, nodes: usize) -> usize {
    let number = match limit {
        IntOrString::Int(number) => usize::try_from(*number).unwrap_or_default(),
        IntOrString::String(text) => {
            let percent = text
                .strip_suffix('%')
                .and_then(|text| text.parse::<usize>().ok());
            (nodes * percent.unwrap_or_default().min(100)).div_ceil(100)
        }
    };
    number.max(1)
}

fn default_soak(schedext: &SchedExt) -> SignedDuration {
    let base = parts(schedext).next();
    let watchdog = base.and_then(|base| base.watchdog().ok().flatten());
    let watchdog = watchdog.and_then(|watchdog| SignedDuration::try_from(watchdog).ok());
    let watchdog = watchdog.unwrap_or(WATCHDOG);
    // In whole seconds, as times in the status are.
    let rounded_up = watchdog.as_secs() + i64::from(watchdog.subsec_nanos() > 0);
    SignedDuration::from_secs(rounded_up) + SOAK_AFTER_WATCHDOG
}

/// `90s`, `5m`, `1h`. Admission rejects everything else.
fn parse(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u32 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    Some(SignedDuration::from_secs(i64::from(number) * seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;

    #[test]
    fn durations_have_a_unit() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h", 3600), ("0s", 0)] {
            assert_eq!(
                parse(text),
                Some(SignedDuration::from_secs(seconds)),
                "{text}"
            );
        }
        for text in ["", "s", "5", "5d", "-5s", "5 s", "1.5s", "ä"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn without_rollout_nothing_soaks_and_with_it_a_stall_of_the_first_minute_is_found() {
        let plain = fixture::schedext("a", json!({"sched": "x"}));
        assert_eq!(Settings::new(&plain).soak, SignedDuration::ZERO);
        let staged = fixture::schedext(
            "a",
            json!({"sched": "x", "watchdogTimeout": "5s", "rollout": {"canary": {}}}),
        );
        let settings = Settings::new(&staged);
        assert_eq!(settings.soak, SignedDuration::from_secs(65));
        assert_eq!(settings.canary_soak, Some(settings.soak));
    }

    #[test]
    fn a_share_is_at_least_one_node_and_a_canary_at_most_all() {
        let spec = |rollout| fixture::schedext("a", json!({"sched": "x", "rollout": rollout}));
        let percent = spec(json!({"maxUnavailable": "10%", "canary": {"nodes": "1%"}}));
        assert_eq!(max_unavailable(&percent, 5000), 500);
        assert_eq!(max_unavailable(&percent, 11), 2);
        assert_eq!(canary_size(&percent, 10), 1);
        assert_eq!(canary_size(&percent, 0), 0);
        let large = spec(json!({"canary": {"nodes": 20}}));
        assert_eq!((canary_size(&large, 3), max_unavailable(&large, 3)), (3, 1));
    }
}
