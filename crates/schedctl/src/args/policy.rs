//! Arguments of `policy`: `policy check` and `policy explain`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub struct Policy {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Check whether a trust policy is valid, and show what it means.
    #[command(after_help = CHECK)]
    Check(PolicyFile),
    /// Show which rule of the trust policy applies to an image, and why. No registry is asked.
    #[command(after_help = EXPLAIN)]
    Explain(ExplainPolicy),
}

#[derive(Debug, clap::Args)]
pub struct PolicyFile {
    /// A policy file, builtin:schedkit or builtin:schedkit-organisation.
    #[arg(value_name = "FILE")]
    pub policy: PathBuf,
}

#[derive(Debug, clap::Args)]
pub struct ExplainPolicy {
    /// A name from `schedctl list`, or a reference such as ghcr.io/schedkit/scx_lavd:1.0.
    #[arg(value_name = "NAME|REF")]
    pub image: String,
    /// Trust policy: whose signatures are accepted [default: builtin:schedkit].
    #[arg(long, value_name = "FILE")]
    pub trust_policy: Option<PathBuf>,
}

const CHECK: &str = "\
Also reads the keys and the trusted root that the policy names. Warns about patterns that match more
than they seem to, and about rules that do not ask for what a wider rule asks for: of all rules whose
scope covers an image, the one with the most specific scope applies, and no other.

Exit codes:
  0  valid
  1  invalid, or it cannot be read

Examples:
  schedctl policy check /etc/schedctl/trust.yaml
  schedctl policy check builtin:schedkit
  schedctl policy check ./policy.yaml -o json | jq -r '.rules[].scope'";

const EXPLAIN: &str = "\
Shows what an image must have to be accepted; `schedctl verify` says whether it has it.

Exit codes:
  0  a rule applies
  1  failure: the policy is invalid, or the name is in no catalog
  3  the policy refuses the image whoever signed it

Examples:
  schedctl policy explain scx_lavd
  schedctl policy explain registry.example/scx_mine:1.0 --trust-policy ./policy.yaml
  schedctl policy explain scx_lavd -o json | jq -r .rule";
