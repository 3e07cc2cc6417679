//! Times as the model keeps them: in seconds before (negative) or after the present, so that two
//! states that differ only in when they were reached are one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// The present, in every state.
const NOW: i64 = 1_700_000_000;
/// Longer than every duration in the specs. What happened longer ago than that before something else
/// is only known to have happened before it.
const LONGEST: i64 = 61;

pub(super) fn now() -> Timestamp {
    timestamp(0)
}

pub(super) fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

pub(super) fn seconds(time: Timestamp) -> i64 {
    time.as_second() - NOW
}

/// Something that remembers times.
pub(super) trait Dated {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64));
}

/// What each of these times becomes when so many seconds pass. Their order is kept, and so is the
/// distance between two neighbours up to [`LONGEST`].
pub(super) fn later(times: &BTreeSet<i64>, passed: i64) -> BTreeMap<i64, i64> {
    let mut moved = BTreeMap::new();
    let past = times.iter().rev().filter(|time| **time <= passed);
    let (mut before, mut new) = (passed, 0);
    for time in past {
        new -= (before - time).min(LONGEST);
        before = *time;
        moved.insert(*time, new);
    }
    let future = times.iter().filter(|time| **time > passed);
    moved.extend(future.map(|time| (*time, time - passed)));
    moved
}
