//! Arguments of `trust`: `trust status` and `trust update`.

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct Trust {
    #[command(subcommand)]
    pub command: TrustCommand,
}

#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Show which trusted root is used, how old it is, and when it was renewed last. Nothing is asked.
    #[command(after_help = STATUS)]
    Status,
    /// Fetch the newest trusted root by TUF and keep it.
    #[command(after_help = UPDATE)]
    Update(UpdateTrust),
}

#[derive(Debug, clap::Args)]
pub struct UpdateTrust {
    /// A mirror of the TUF repository: a URL with https, or a directory with a copy [default: that of
    /// the settings, else of the public instance].
    #[arg(long, value_name = "URL|DIR")]
    pub mirror: Option<String>,
}

const STATUS: &str = "\
The trusted root says which certificate authorities and logs of a Sigstore instance count. Policies
that name no `trustedRoot` use this one: the one that was fetched last, or the one inside the program.

Exit codes:
  0  it can be used
  1  it is older than --max-root-age, or there is none

Examples:
  schedctl trust status
  schedctl trust status --max-root-age 30d
  schedctl trust status -o json | jq -r .checked_at";

const UPDATE: &str = "\
The only command that asks an update server. If it fails, the root that was used before stays, and
gets older. Where new content changes what a policy means, what is enabled for the boot is verified
again.

Examples:
  schedctl trust update
  schedctl trust update --mirror /srv/sigstore-tuf
  schedctl trust update --mirror https://mirror.example/tuf -o json | jq -r .result";
