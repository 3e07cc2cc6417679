//! What every command takes.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// How to print: for people, or one JSON document for programs.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Text, hide_possible_values = true, value_name = "text|json")]
    pub output: Format,
    /// Who runs the containers: podman or containerd [default: podman].
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        hide_possible_values = true,
        value_name = "NAME"
    )]
    pub driver: Option<DriverName>,
    /// Where that one listens [default: where it usually does].
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Names and images of schedulers; see `schedctl list`.
    #[arg(long, global = true, value_name = "URL|FILE")]
    pub catalog: Option<String>,
    /// Settings [default: /etc/schedctl/config.toml].
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Logins to registries, as `podman login` writes them.
    #[arg(long, global = true, value_name = "FILE")]
    pub registry_config: Option<PathBuf>,
    /// How much to say on standard error: error, warn, info or debug [default: warn].
    #[arg(
        long,
        global = true,
        value_enum,
        hide_possible_values = true,
        value_name = "LEVEL"
    )]
    pub log_level: Option<LogLevel>,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Who runs the containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriverName {
    /// Podman's system service.
    Podman,
    /// containerd.
    Containerd,
}

/// How much to say. Each says what those before it say, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Why it did not work.
    Error,
    /// What a person should know.
    Warn,
    /// What is done.
    Info,
    /// How, and how long it took.
    Debug,
}
