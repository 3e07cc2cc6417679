//! What can be said to sked on its command line. Read once, in `main`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::listen::Bind;
use crate::log::LogFormat;

/// sked: sched_ext schedulers on the nodes of a Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(name = "sked", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    manager: ManagerArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look after the SchedExts of a cluster; the same without this word.
    Manager(ManagerArgs),
    /// Report what this node's kernel says about its scheduler.
    NodeAgent(AgentArgs),
    /// Take the owner labels off all nodes, once no SchedExt is left.
    ReleaseNodes(ReleaseArgs),
}

/// What to do.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// Look after SchedExts.
    Manage(ManagerArgs),
    /// Report what this node's kernel says.
    Report(AgentArgs),
    /// Take the owner labels off all nodes.
    Release(ReleaseArgs),
}

/// Where the cluster is.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ClusterArgs {
    /// Which cluster; without it KUBECONFIG, ~/.kube/config or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// How it is logged.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// Format of the log, on standard error.
    #[arg(long = "log-format", value_enum, default_value = "json")]
    pub(crate) format: LogFormat,

    /// How much is logged: error, warn, info, debug or trace.
    #[arg(long = "log-level", value_name = "LEVEL", default_value = "info", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub(crate) level: String,
}

/// Flags of `release-nodes`.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Flags of `node-agent`.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct AgentArgs {
    /// Where /metrics is served, over plain HTTP; 0: nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = ":8080")]
    pub(crate) metrics_bind_address: Bind,

    /// Where /healthz and /readyz are served; 0: nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub(crate) health_probe_bind_address: Bind,

    /// The pod's own token: it says which node this is.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    )]
    pub(crate) token_file: PathBuf,

    /// Where the machine's /proc and /sys are.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) host_root: PathBuf,

    /// How often the kernel is asked when it says nothing by itself, as in `30s`.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = interval)]
    pub(crate) poll_interval: Duration,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Flags of the manager.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ManagerArgs {
    /// Work only while holding the lease, so that several managers can run.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) leader_elect: bool,

    /// Where the lease is kept; the manager's own namespace unless said.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_election_namespace: Option<String>,

    /// Where metrics are served, as in `:8443`; 0: nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub(crate) metrics_bind_address: Bind,

    /// Serve metrics over HTTPS, to those whom the cluster allows to get /metrics.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) metrics_secure: bool,

    /// Folder with tls.crt and tls.key for the metrics, read again when they change; without it
    /// the certificate is made up at start.
    #[arg(long, value_name = "DIR")]
    pub(crate) metrics_cert_path: Option<PathBuf>,

    /// Where /healthz and /readyz are served; 0: nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub(crate) health_probe_bind_address: Bind,

    /// Speak HTTP/2 where metrics are served.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) enable_http2: bool,

    /// Look after these namespaces only, separated by commas.
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) watch_namespaces: Vec<String>,

    /// Where the nodes' agents run, whose reports are believed.
    #[arg(long, value_name = "NAMESPACE", default_value = "sked-system")]
    pub(crate) agent_namespace: String,

    /// Read from their registries, without credentials, what images say of themselves: where a
    /// kernel is older than what an image asks for, the SchedExt tells. The manager then connects
    /// to every host that a SchedExt names.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) read_images: bool,

    /// How registries are reached that need more than TLS, in YAML; see docs/sked.md.
    #[arg(long, value_name = "FILE", requires = "read_images")]
    pub(crate) registries: Option<PathBuf>,

    /// How many SchedExts are worked on at the same time.
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) concurrency: NonZeroUsize,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl Args {
    /// What is asked for; the manager, with or without the word, unless it is something else.
    pub(crate) fn request(self) -> Request {
        match self.command {
            Some(Command::Manager(manager)) => Request::Manage(manager),
            Some(Command::NodeAgent(agent)) => Request::Report(agent),
            Some(Command::ReleaseNodes(release)) => Request::Release(release),
            None => Request::Manage(self.manager),
        }
    }
}

/// A tenth of a second up to an hour.
fn interval(text: &str) -> Result<Duration, String> {
    let duration = text.parse::<jiff::SignedDuration>();
    let duration = duration.ok().and_then(|duration| duration.try_into().ok());
    let sensible = Duration::from_millis(100)..=Duration::from_secs(3600);
    duration
        .filter(|duration| sensible.contains(duration))
        .ok_or_else(|| "from 100ms to 1h, as in 30s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> ManagerArgs {
        let args = Args::try_parse_from(words.split(' '));
        match args.unwrap_or_else(|error| panic!("{error}")).request() {
            Request::Manage(manager) => manager,
            Request::Report(_) | Request::Release(_) => panic!("{words} is for the manager"),
        }
    }

    #[test]
    fn the_words_of_existing_installations_are_understood() {
        let today = "--leader-elect --metrics-bind-address=:8443 --metrics-secure=false --enable-http2=true --health-probe-bind-address=:8081";
        for words in [format!("sked {today}"), format!("sked manager {today}")] {
            let args = parse(&words);
            assert!(args.leader_elect && args.enable_http2 && !args.metrics_secure);
            assert_eq!(args.metrics_bind_address, ":8443".parse().unwrap());
        }
    }

    #[test]
    fn without_words_the_defaults_are_the_contracts() {
        let args = parse("sked");
        assert!(!args.leader_elect && !args.enable_http2 && args.metrics_secure);
        assert_eq!(args.metrics_bind_address, Bind::Off);
        assert_eq!(args.health_probe_bind_address, ":8081".parse().unwrap());
        assert!(args.watch_namespaces.is_empty());
        assert!(!args.read_images);
    }

    #[test]
    fn how_registries_are_reached_is_said_only_when_they_are() {
        let args = parse("sked --read-images --registries=r.yaml");
        assert!(args.read_images && args.registries == Some(PathBuf::from("r.yaml")));
        let alone = Args::try_parse_from(["sked", "--registries=r.yaml"]);
        let error = alone.unwrap_err().to_string();
        assert!(error.contains("--read-images"), "{error}");
    }

    #[test]
    fn an_agent_without_words_looks_at_this_machine_from_a_pod() {
        let agent = |words: &str| {
            let args = Args::try_parse_from(words.split(' '))?;
            match args.request() {
                Request::Report(agent) => Ok(agent),
                other => panic!("{other:?}"),
            }
        };
        let args = agent("sked node-agent").unwrap_or_else(|error: clap::Error| panic!("{error}"));
        assert_eq!(args.metrics_bind_address, ":8080".parse().unwrap());
        assert_eq!(args.health_probe_bind_address, ":8081".parse().unwrap());
        assert_eq!(args.host_root, PathBuf::from("/"));
        assert_eq!(args.poll_interval, Duration::from_secs(30));
        for wrong in ["0s", "-3s", "2h", "often"] {
            let error = agent(&format!("sked node-agent --poll-interval={wrong}")).unwrap_err();
            assert!(error.to_string().contains("as in 30s"), "{error}");
        }
    }
}
