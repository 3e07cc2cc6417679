//! What schedctl says on standard error about what it does, as much as `--log-level` allows.
//!
//! Anything of ours, libraries included, calls `tracing`'s macros: that crate is linked already by
//! the HTTP stack, and nobody has to hand a logger around. What listens is here and small; what
//! other people's crates have to say is not passed on.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use schedctl_args::args::LogLevel;
use schedkit_image::foreign;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::{ERROR, WARNING, say};

const QUIET: Style = AnsiColor::BrightBlack.on_default();
const LONGEST: usize = 2000;

/// Prints a line an event.
struct Lines {
    level: Level,
}

/// From now on, says what this level allows.
pub(crate) fn begin(level: LogLevel) {
    // It can only be set already when it was set by this very run.
    let _ = tracing::subscriber::set_global_default(Lines::of(level));
}

impl Lines {
    fn of(level: LogLevel) -> Self {
        let level = match level {
            LogLevel::Error => Level::ERROR,
            LogLevel::Warn => Level::WARN,
            LogLevel::Info => Level::INFO,
            LogLevel::Debug => Level::DEBUG,
        };
        Self { level }
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let ours = target.starts_with("schedctl") || target.starts_with("schedkit_");
        metadata.is_event() && ours && *metadata.level() <= self.level
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.level))
    }

    fn event(&self, event: &Event<'_>) {
        let mut sentence = Sentence::default();
        event.record(&mut sentence);
        let (word, style) = match *event.metadata().level() {
            Level::ERROR => ("error", ERROR),
            Level::WARN => ("warning", WARNING),
            Level::INFO => ("info", QUIET),
            _ => ("debug", QUIET),
        };
        say(word, style, &foreign::shortened(&sentence.0, LONGEST));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message, then the fields as `name=value`.
#[derive(Default)]
struct Sentence(String);

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Which of one event a level lets through.
    struct Counting(Lines, Arc<Mutex<Vec<String>>>);

    impl Subscriber for Counting {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0.wants(metadata)
        }
        fn event(&self, event: &Event<'_>) {
            let mut sentence = Sentence::default();
            event.record(&mut sentence);
            self.1.lock().unwrap().push(sentence.0);
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_level_lets_through_what_is_as_grave_or_graver_and_ours() {
        for (level, expected) in [
            (LogLevel::Error, 0),
            (LogLevel::Warn, 1),
            (LogLevel::Info, 2),
            (LogLevel::Debug, 3),
        ] {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let lines = Counting(Lines::of(level), Arc::clone(&heard));
            tracing::subscriber::with_default(lines, || {
                tracing::warn!("one");
                tracing::info!(socket = "/s", "two");
                tracing::debug!("three");
                tracing::warn!(target: "h2", "not ours");
            });
            let heard = heard.lock().unwrap();
            let all = ["one", "two socket=\"/s\"", "three"];
            assert_eq!(*heard, all[..expected], "{level:?}");
        }
    }
}
