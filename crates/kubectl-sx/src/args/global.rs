//! Options of every command.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Namespace [default: that of the context].
    #[arg(short, long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
    /// SchedExts of all namespaces.
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Context of the kubeconfig [default: the current one].
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Kubeconfig file [default: KUBECONFIG or ~/.kube/config].
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Output format: text for people, or JSON.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Text, hide_possible_values = true, value_name = "text|json")]
    pub output: Format,
    /// Namespace of the node agents, as the manager has it.
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        default_value = "sked-system"
    )]
    pub agent_namespace: String,
    /// The namespaces that the manager watches, if it watches only some.
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    pub watch_namespaces: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}
