//! How long ago, in the form of kubectl.

use jiff::Timestamp;

/// `45s`, `10m`, `5h`, `3d`.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    span(now.duration_since(since).as_secs().max(0))
}

/// How long until then; `None` if it is over.
pub(super) fn left(until: Timestamp, now: Timestamp) -> Option<String> {
    let seconds = until.duration_since(now).as_secs();
    (seconds > 0).then(|| span(seconds))
}

fn span(seconds: i64) -> String {
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7199 => format!("{}m", seconds / 60),
        7200..=172_799 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let begin = Timestamp::UNIX_EPOCH;
        let after = |seconds| age(begin, Timestamp::from_second(seconds).unwrap());
        let ages = [-5, 0, 119, 120, 7199, 7200, 172_800].map(after);
        assert_eq!(ages, ["0s", "0s", "119s", "2m", "119m", "2h", "2d"]);
        assert_eq!(left(begin, Timestamp::from_second(1).unwrap()), None);
    }
}
