//! Options of every command.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use schedkit_runtime::driver::Runtime;
use serde::{Deserialize, Serialize};

use super::duration::root_age;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Output format: text for people, or one JSON document.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Text, hide_possible_values = true, value_name = "text|json")]
    pub output: Format,
    /// Container runtime: podman or containerd [default: podman].
    #[arg(
        short,
        long,
        global = true,
        value_parser = runtime(),
        hide_possible_values = true,
        value_name = "NAME"
    )]
    pub driver: Option<Runtime>,
    /// Socket of the container runtime [default: the runtime's standard path].
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Catalog of scheduler names and images; see `schedctl list`.
    #[arg(long, global = true, value_name = "URL|FILE")]
    pub catalog: Option<String>,
    /// Settings file [default: /etc/schedctl/config.toml].
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Registry credentials, in the format that `podman login` writes.
    #[arg(long, global = true, value_name = "FILE")]
    pub registry_config: Option<PathBuf>,
    /// Refuse a trusted root that was checked longer ago than this, such as 30d [default: any age].
    #[arg(long, global = true, value_name = "AGE", value_parser = root_age)]
    pub max_root_age: Option<Duration>,
    /// Log level on standard error: error, warn, info or debug [default: warn].
    #[arg(
        long,
        global = true,
        value_enum,
        hide_possible_values = true,
        value_name = "LEVEL"
    )]
    pub log_level: Option<LogLevel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

fn runtime() -> impl TypedValueParser<Value = Runtime> {
    PossibleValuesParser::new(["podman", "containerd"]).map(|name| match name.as_str() {
        "containerd" => Runtime::Containerd,
        _ => Runtime::Podman,
    })
}
