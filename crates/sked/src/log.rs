//! How the log looks: one JSON object a line, or text for people. The object that a line is about
//! is on the line, because reconciliation happens inside a span that names it.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Starts to log. What the client says about each failed request is left out: whoever asked says
/// it with what was attempted.
pub(crate) fn start(format: LogFormat, level: &str) {
    let filter = EnvFilter::builder().parse_lossy(format!(
        "warn,sked={level},kube_client=off,kube_runtime=off"
    ));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Json => log
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .with_current_span(true)
            .init(),
        LogFormat::Text => log.with_ansi(false).init(),
    }
}
