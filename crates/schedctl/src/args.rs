//! What can be said on the command line. The comments are the help. Parses and means nothing yet:
//! that is [`crate::request`]'s work, and the environment is [`crate::environment`]'s.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

/// Run sched_ext schedulers from OCI images on this machine.
#[derive(Debug, Parser)]
#[command(version, propagate_version = false, after_help = AFTER)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// How to print: for people, or one JSON document for programs.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Text, hide_possible_values = true, value_name = "text|json")]
    output: Format,
    /// Names and images of schedulers; see `schedctl list`.
    #[arg(long, global = true, value_name = "URL|FILE")]
    pub(crate) catalog: Option<String>,
    /// Settings [default: /etc/schedctl/config.toml].
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Logins to registries, as `podman login` writes them.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) registry_config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the schedulers of the catalog.
    #[command(after_help = LIST)]
    List,
    /// List the versions of a scheduler, the newest last.
    #[command(after_help = VERSIONS)]
    Versions {
        /// A name from `schedctl list`, or a repository such as ghcr.io/schedkit/scx_lavd.
        #[arg(value_name = "NAME|REPO")]
        image: String,
    },
    /// Show what an image says about itself. Nothing of it is verified.
    #[command(after_help = INFO)]
    Info {
        /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
        #[arg(value_name = "NAME|REF")]
        image: String,
    },
    /// Tell whether the trust policy accepts an image, and who signed it. Nothing is run.
    #[command(after_help = VERIFY)]
    Verify {
        /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
        #[arg(value_name = "NAME|REF")]
        image: String,
        /// Whose signatures count [default: those of the schedkit project].
        #[arg(long, value_name = "FILE")]
        trust_policy: Option<PathBuf>,
    },
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Args {
    /// How to print.
    pub(crate) fn output(&self) -> Format {
        self.global.output
    }

    /// The settings file that was named.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.global.config.as_deref()
    }
}

const AFTER: &str = "\
Examples:
  schedctl list                                   names that can be used
  schedctl versions scx_lavd                      which versions there are
  schedctl info scx_lavd -o json                  what it is, for a program
  schedctl verify ghcr.io/schedkit/scx_lavd:1.0   who signed it

Environment, where a flag does not say otherwise:
  SCHEDCTL_CATALOG, SCHEDCTL_CONFIG, SCHEDCTL_REGISTRY_CONFIG, SCHEDCTL_TRUST_POLICY
  SCHEDCTL_CACHE   folder of what is kept between runs [default: /var/cache/schedctl for root,
                   ~/.cache/schedctl for others]
  NO_COLOR         no colour; there is none in a pipe anyway

The settings file comes after the environment:
  catalog = \"https://example.org/schedulers.json\"
  trust-policy = \"/etc/schedctl/trust.yaml\"
  [registry.\"ghcr.io\"]
  mirrors = [\"mirror.example:5000\"]
  [registry.\"mirror.example:5000\"]
  ca = \"/etc/schedctl/mirror.pem\"

Exit codes:
  0  done; `verify`: accepted
  1  not done: usage, settings, network, …
  3  `verify`: refused";

const LIST: &str = "\
Without --catalog the project's published catalog is used; where it cannot be fetched, the copy
that was kept last time, else the one inside the program, with a warning.

Examples:
  schedctl list
  schedctl list --catalog ./schedulers.json
  schedctl list -o json | jq -r '.schedulers[].image'";

const VERSIONS: &str = "\
Examples:
  schedctl versions scx_lavd
  schedctl versions registry.example:5000/team/scx_mine";

const INFO: &str = "\
Examples:
  schedctl info scx_lavd
  schedctl info ghcr.io/schedkit/scx_lavd:1.0 -o json | jq -r .kernel_min_version";

const VERIFY: &str = "\
Exit codes:
  0  accepted
  1  it could not be found out
  3  refused

Examples:
  schedctl verify scx_lavd
  schedctl verify registry.example/scx_mine:1.0 --trust-policy ./policy.yaml
  schedctl verify scx_lavd -o json | jq -r .digest";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }
}
