//! Log output: one JSON object per line, or text. Lines of a reconciliation name the SchedExt, because
//! they are logged in its span.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Plain text.
    Text,
}

/// The client's own messages about failed requests are off: the caller logs each failure with its
/// context.
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
