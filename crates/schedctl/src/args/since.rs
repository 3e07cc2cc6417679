//! Parses the time of `logs --since`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// When the output begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So long before now.
    Ago(Duration),
    At(Timestamp),
}

impl Since {
    /// `Timestamp::MIN` for what is before all time.
    pub fn before(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(duration) => now.checked_sub(duration).unwrap_or(Timestamp::MIN),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Since, String> {
    if let Ok(duration) = super::duration::parse(text) {
        return Ok(Since::Ago(duration));
    }
    if let Ok(time) = text.parse() {
        return Ok(Since::At(time));
    }
    let local = text.parse::<DateTime>().ok();
    let local = local.and_then(|local| local.to_zoned(TimeZone::system()).ok());
    local
        .map(|zoned| Since::At(zoned.timestamp()))
        .ok_or_else(|| {
            "expected a duration such as 10m, or a time such as 2026-01-31T08:00:00Z".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_or_a_time_is_parsed() {
        let now: Timestamp = "2026-01-31T08:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("10m", "2026-01-31T07:50:00Z"),
            ("2026-01-30T01:02:03Z", "2026-01-30T01:02:03Z"),
            ("2026-01-30T01:02:03+01:00", "2026-01-30T00:02:03Z"),
        ] {
            let since = parse(text).unwrap().before(now);
            assert_eq!(since.to_string(), expected, "{text}");
        }
        assert!(matches!(parse("2026-01-30"), Ok(Since::At(_))));
        for text in ["", "yesterday", "-5m", "2026-13-01"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
