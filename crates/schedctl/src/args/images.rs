//! Arguments of the commands about images in registries: `list`, `versions`, `info`, `verify`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Repository {
    /// A name from `schedctl list`, or a repository such as ghcr.io/schedkit/scx_lavd.
    #[arg(value_name = "NAME|REPO")]
    pub image: String,
}

#[derive(Debug, clap::Args)]
pub struct Image {
    /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
    #[arg(value_name = "NAME|REF")]
    pub image: String,
}

#[derive(Debug, clap::Args)]
pub struct Verify {
    /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
    #[arg(value_name = "NAME|REF")]
    pub image: String,
    /// Trust policy: whose signatures are accepted [default: builtin:schedkit].
    #[arg(long, value_name = "FILE")]
    pub trust_policy: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct Prune {
    /// Do not ask for confirmation.
    #[arg(long)]
    pub force: bool,
    /// Print what would be removed and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

pub(super) const IMAGES: &str = "\
Lists the images that schedctl pulled, and others whose repository is in the catalog, in the stores
of both runtimes; with --driver in that one only.

Examples:
  schedctl images
  schedctl images -d containerd
  schedctl images -o json | jq -r '.images[] | select(.in_use | not) | .digest'";

pub(super) const PRUNE: &str = "\
Removes images that schedctl pulled, that no container uses and that are not started at boot, from
the stores of both runtimes; with --driver from that one only. An image that somebody else pulled
or gave a tag is kept. Asks for confirmation on a terminal, and needs --force elsewhere.

Examples:
  schedctl prune --dry-run
  schedctl prune --force";

pub(super) const LIST: &str = "\
Without --catalog the project's published catalog is used. If it cannot be fetched, schedctl uses
the cached copy, or else the copy inside the program, and prints a warning.

Examples:
  schedctl list
  schedctl list --catalog ./schedulers.json
  schedctl list -o json | jq -r '.schedulers[].image'";

pub(super) const VERSIONS: &str = "\
Examples:
  schedctl versions scx_lavd
  schedctl versions registry.example:5000/team/scx_mine";

pub(super) const INFO: &str = "\
Examples:
  schedctl info scx_lavd
  schedctl info ghcr.io/schedkit/scx_lavd:1.0 -o json | jq -r .kernel_min_version";

pub(super) const VERIFY: &str = "\
Exit codes:
  0  accepted
  1  could not be determined
  3  refused

Examples:
  schedctl verify scx_lavd
  schedctl verify registry.example/scx_mine:1.0 --trust-policy ./policy.yaml
  schedctl verify scx_lavd -o json | jq -r .digest";
