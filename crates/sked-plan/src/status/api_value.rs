//! Numbers and times in the form in which the API stores them.

use jiff::Timestamp;

pub(super) fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The API stores whole seconds: a value that is read back must equal the one that was written.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
