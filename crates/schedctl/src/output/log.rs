//! The log on standard error, at the level of `--log-level`.
//!
//! All schedkit crates use `tracing`, which the HTTP stack links anyway. This subscriber prints
//! their events and ignores those of other crates.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use schedctl_args::args::LogLevel;
use schedkit_image::untrusted;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::document::{ERROR, WARNING};
use super::printer::print_line;

const DIM: Style = AnsiColor::BrightBlack.on_default();
const MAX_LENGTH: usize = 2000;

/// Prints one line per event.
struct LogPrinter {
    level: Level,
}

pub(crate) fn begin(level: LogLevel) {
    // Called once per process.
    let _ = tracing::subscriber::set_global_default(LogPrinter::new(level));
}

impl LogPrinter {
    fn new(level: LogLevel) -> Self {
        let level = match level {
            LogLevel::Error => Level::ERROR,
            LogLevel::Warn => Level::WARN,
            LogLevel::Info => Level::INFO,
            LogLevel::Debug => Level::DEBUG,
        };
        Self { level }
    }

    fn is_enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let ours = target.starts_with("schedctl") || target.starts_with("schedkit_");
        metadata.is_event() && ours && *metadata.level() <= self.level
    }
}

impl Subscriber for LogPrinter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.is_enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.level))
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message::default();
        event.record(&mut message);
        let (kind, style) = match *event.metadata().level() {
            Level::ERROR => ("error", ERROR),
            Level::WARN => ("warning", WARNING),
            Level::INFO => ("info", DIM),
            _ => ("debug", DIM),
        };
        print_line(kind, style, &untrusted::shortened(&message.0, MAX_LENGTH));
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
struct Message(String);

impl Visit for Message {
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

    /// Records the messages that a level prints.
    struct Recorder(LogPrinter, Arc<Mutex<Vec<String>>>);

    impl Subscriber for Recorder {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0.is_enabled(metadata)
        }
        fn event(&self, event: &Event<'_>) {
            let mut message = Message::default();
            event.record(&mut message);
            self.1.lock().unwrap().push(message.0);
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
    fn a_level_prints_events_of_schedkit_crates_up_to_it() {
        for (level, expected) in [
            (LogLevel::Error, 0),
            (LogLevel::Warn, 1),
            (LogLevel::Info, 2),
            (LogLevel::Debug, 3),
        ] {
            let recorded = Arc::new(Mutex::new(Vec::new()));
            let recorder = Recorder(LogPrinter::new(level), Arc::clone(&recorded));
            tracing::subscriber::with_default(recorder, || {
                tracing::warn!("one");
                tracing::info!(socket = "/s", "two");
                tracing::debug!("three");
                tracing::warn!(target: "h2", "not ours");
            });
            let recorded = recorded.lock().unwrap();
            let all = ["one", "two socket=\"/s\"", "three"];
            assert_eq!(*recorded, all[..expected], "{level:?}");
        }
    }
}
