//! The command line of sked.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args as ClapArgs, Parser, Subcommand};
use schedkit_core::Digest;
use schedkit_image::trust::Mirror;

use crate::listen::Bind;
use crate::log::LogFormat;
use crate::manager::registries::NamedRegistries;

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
#[expect(clippy::large_enum_variant, reason = "there is one, for the whole run")]
enum Command {
    /// Run the manager, which reconciles the SchedExts of a cluster (default).
    Manager(ManagerArgs),
    /// Run the agent of a node, which reports the state of its kernel.
    NodeAgent(AgentArgs),
    /// Remove the owner labels from all nodes, if no SchedExt exists any more.
    ReleaseNodes(ReleaseArgs),
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, for the whole run")]
pub(crate) enum Request {
    Manage(ManagerArgs),
    RunAgent(AgentArgs),
    ReleaseNodes(ReleaseArgs),
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ClusterArgs {
    /// Kubeconfig file [default: KUBECONFIG, ~/.kube/config or the pod's service account].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// Format of the log on standard error.
    #[arg(long = "log-format", value_enum, default_value = "json")]
    pub(crate) format: LogFormat,

    /// Lowest level that is logged.
    #[arg(long = "log-level", value_name = "LEVEL", default_value = "info", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub(crate) level: String,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct AgentArgs {
    /// Address of /metrics, over plain HTTP; 0 turns it off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8080")]
    pub(crate) metrics_bind_address: Bind,

    /// Address of /healthz and /readyz; 0 turns them off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub(crate) health_probe_bind_address: Bind,

    /// The pod's service account token, which names the node.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    )]
    pub(crate) token_file: PathBuf,

    /// Directory that contains the machine's /proc and /sys.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) host_root: PathBuf,

    /// How often the kernel state is read if no kernel event arrives, such as `30s`.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = interval)]
    pub(crate) poll_interval: Duration,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Clone, Debug, ClapArgs)]
#[command(group(ArgGroup::new("reads").args(["read_images", "trust_policy"]).multiple(true)))]
pub(crate) struct ManagerArgs {
    /// Use leader election, so that several managers can run.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) leader_elect: bool,

    /// Namespace of the lease [default: the manager's own].
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_election_namespace: Option<String>,

    /// Address of /metrics, such as `:8443`; 0 turns it off.
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub(crate) metrics_bind_address: Bind,

    /// Serve metrics over HTTPS, to clients that are permitted to get /metrics.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) metrics_secure: bool,

    /// Directory with tls.crt and tls.key for the metrics, read again when they change [default: a
    /// self-signed certificate is created at start].
    #[arg(long, value_name = "DIR")]
    pub(crate) metrics_cert_path: Option<PathBuf>,

    /// Address of /healthz and /readyz; 0 turns them off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub(crate) health_probe_bind_address: Bind,

    /// Offer HTTP/2 for the metrics.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) enable_http2: bool,

    /// Watch only these namespaces, separated by commas [default: all].
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) watch_namespaces: Vec<String>,

    /// Namespace of the node agents [default: the manager's own, or sked-system outside of a cluster].
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) agent_namespace: Option<String>,

    /// Check that the admission policies restrict the manager's service account.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) check_policies: bool,

    /// Read the minimum kernel and the platforms of images from their registries, without credentials,
    /// and report nodes that they do not fit. The manager then connects to every registry that a SchedExt
    /// names. With --trust-policy they are reported anyway.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) read_images: bool,

    /// Run only images whose signature this trust policy accepts, each by its digest. The file is read
    /// again when it changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) trust_policy: Option<PathBuf>,

    /// File with logins for registries, as podman and docker write it.
    #[arg(long, value_name = "FILE", requires = "trust_policy")]
    pub(crate) registry_auth: Option<PathBuf>,

    /// Read an image also with the secrets that its SchedExt names in `imagePullSecrets`. The manager must
    /// be permitted to get them, in each of their namespaces; see docs/sked.md.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set, requires_if("true", "trust_policy"))]
    pub(crate) pull_secrets: bool,

    /// Registries whose images are read, separated by commas: no other is asked, and these may have any
    /// address. Or a YAML file (*.yaml, *.yml, or with a /) with settings for registries, such as
    /// mirrors; see docs/sked.md [default: all that have a public address].
    #[arg(
        long,
        value_name = "HOST,…|FILE",
        requires = "reads",
        value_delimiter = ','
    )]
    pub(crate) registries: Vec<NamedRegistries>,

    /// How often a tag is resolved again, and followed if its new image is accepted, such as `1h` [default:
    /// never].
    #[arg(long, value_name = "DURATION", requires = "trust_policy", value_parser = resolve_interval)]
    pub(crate) resolve_interval: Option<Duration>,

    /// Take off the nodes what the trust policy does not accept any more.
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set, requires_if("true", "trust_policy"))]
    pub(crate) enforce_running: bool,

    #[command(flatten)]
    pub(crate) trust_root: TrustRootArgs,

    /// How many SchedExts are reconciled concurrently.
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) concurrency: NonZeroUsize,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// For a trust policy that names no trusted root.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct TrustRootArgs {
    /// How often the trusted root of the Sigstore instance is fetched by TUF, such as `24h` [default:
    /// never; the one inside sked is used].
    #[arg(long, value_name = "DURATION", requires = "trust_policy", value_parser = refresh_interval)]
    pub(crate) trust_root_refresh: Option<Duration>,

    /// A mirror of the TUF repository: a URL with https, or a directory [default:
    /// https://tuf-repo-cdn.sigstore.dev].
    #[arg(long, value_name = "URL|DIR", requires = "trust_root_refresh")]
    pub(crate) trust_root_mirror: Option<Mirror>,

    /// Directory where the fetched trusted root is kept for a restart.
    #[arg(long, value_name = "DIR", requires = "trust_policy")]
    pub(crate) trust_root_cache: Option<PathBuf>,

    /// The root of TUF of another Sigstore instance than the public one.
    #[arg(
        long,
        value_name = "FILE",
        requires = "trust_root_mirror",
        requires = "trust_root_tuf_sha256"
    )]
    pub(crate) trust_root_tuf: Option<PathBuf>,

    /// The SHA-256 of that file, as `sha256:…`.
    #[arg(long, value_name = "DIGEST", requires = "trust_root_tuf")]
    pub(crate) trust_root_tuf_sha256: Option<Digest>,

    /// Give no verdicts with a trusted root that was checked longer ago, such as `720h` [default: any
    /// age].
    #[arg(long, value_name = "DURATION", requires = "trust_policy", value_parser = root_age)]
    pub(crate) max_root_age: Option<Duration>,
}

impl Args {
    /// Without a subcommand it is the manager.
    pub(crate) fn request(self) -> Request {
        match self.command {
            Some(Command::Manager(manager)) => Request::Manage(manager),
            Some(Command::NodeAgent(agent)) => Request::RunAgent(agent),
            Some(Command::ReleaseNodes(release)) => Request::ReleaseNodes(release),
            None => Request::Manage(self.manager),
        }
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let sensible = Duration::from_millis(100)..=Duration::from_secs(3600);
    duration(text, &sensible).ok_or_else(|| "from 100ms to 1h, such as 30s".to_owned())
}

/// Registries count each as a pull.
fn resolve_interval(text: &str) -> Result<Duration, String> {
    let sensible = Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 3600);
    duration(text, &sensible).ok_or_else(|| "from 1m to 168h, such as 1h".to_owned())
}

fn refresh_interval(text: &str) -> Result<Duration, String> {
    let sensible = Duration::from_secs(60)..=Duration::from_secs(30 * 24 * 3600);
    duration(text, &sensible).ok_or_else(|| "from 1m to 720h, such as 24h".to_owned())
}

fn root_age(text: &str) -> Result<Duration, String> {
    let sensible = Duration::from_secs(3600)..=Duration::from_secs(3650 * 24 * 3600);
    duration(text, &sensible).ok_or_else(|| "from 1h to 87600h, such as 720h".to_owned())
}

fn duration(text: &str, sensible: &RangeInclusive<Duration>) -> Option<Duration> {
    let duration = text.parse::<jiff::SignedDuration>().ok()?;
    let duration = duration.try_into().ok()?;
    sensible.contains(&duration).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> ManagerArgs {
        let args = Args::try_parse_from(line.split(' '));
        match args.unwrap_or_else(|error| panic!("{error}")).request() {
            Request::Manage(manager) => manager,
            Request::RunAgent(_) | Request::ReleaseNodes(_) => panic!("{line} is for the manager"),
        }
    }

    #[test]
    fn flags_of_existing_installations_are_accepted() {
        let today = "--leader-elect --metrics-bind-address=:8443 --metrics-secure=false --enable-http2=true --health-probe-bind-address=:8081";
        for line in [format!("sked {today}"), format!("sked manager {today}")] {
            let args = parse(&line);
            assert!(args.leader_elect && args.enable_http2 && !args.metrics_secure);
            assert_eq!(args.metrics_bind_address, ":8443".parse().unwrap());
        }
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        let args = parse("sked");
        assert!(!args.leader_elect && !args.enable_http2 && args.metrics_secure);
        assert_eq!(args.metrics_bind_address, Bind::Off);
        assert_eq!(args.health_probe_bind_address, ":8081".parse().unwrap());
        assert!(args.watch_namespaces.is_empty());
        assert!(!args.read_images);
    }

    #[test]
    fn registries_are_for_those_who_read_images() {
        let args = parse("sked --read-images --registries=r.yaml");
        let file = NamedRegistries::File(PathBuf::from("r.yaml"));
        assert!(args.read_images && args.registries == [file]);
        let args = parse("sked --trust-policy=p --registries=a.example,b.example:5000");
        assert_eq!(args.registries.len(), 2);
        let alone = Args::try_parse_from(["sked", "--registries=r.yaml"]);
        let error = alone.unwrap_err().to_string();
        assert!(error.contains("--read-images"), "{error}");
    }

    #[test]
    fn verification_needs_a_policy() {
        let args = parse("sked --trust-policy=p --resolve-interval=1h --enforce-running");
        assert!(args.enforce_running);
        assert_eq!(args.resolve_interval, Some(Duration::from_secs(3600)));
        assert!(!parse("sked --enforce-running=false").enforce_running);
        assert!(!args.pull_secrets && parse("sked --trust-policy=p --pull-secrets").pull_secrets);
        for alone in [
            "--registry-auth=a",
            "--pull-secrets",
            "--resolve-interval=1h",
            "--enforce-running",
        ] {
            let error = Args::try_parse_from(["sked", alone])
                .unwrap_err()
                .to_string();
            assert!(error.contains("--trust-policy"), "{alone}: {error}");
        }
        for wrong in ["1s", "200h", "daily"] {
            let interval = format!("--resolve-interval={wrong}");
            let args = ["sked", "--trust-policy=p", &interval];
            assert!(Args::try_parse_from(args).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_trusted_root_is_for_a_policy() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let root = "--trust-root-refresh=24h --trust-root-mirror=/tuf --trust-root-tuf=r.json";
        let all = format!("sked --trust-policy=p {root} --trust-root-tuf-sha256={digest}");
        let args = parse(&format!("{all} --trust-root-cache=/c --max-root-age=720h")).trust_root;
        assert_eq!(args.trust_root_mirror, Some(Mirror::Folder("/tuf".into())));
        assert_eq!(args.max_root_age, Some(Duration::from_secs(720 * 3600)));
        for (wrong, missing) in [
            ("--trust-root-refresh=24h", "--trust-policy"),
            ("--max-root-age=720h", "--trust-policy"),
            (
                "--trust-policy=p --trust-root-mirror=/tuf",
                "--trust-root-refresh",
            ),
            (
                &format!("--trust-policy=p {root}"),
                "--trust-root-tuf-sha256",
            ),
            ("--trust-policy=p --max-root-age=5m", "such as 720h"),
            (
                "--trust-policy=p --trust-root-refresh=24h --trust-root-mirror=http://a.b",
                "https://",
            ),
        ] {
            let line = format!("sked {wrong}");
            let error = Args::try_parse_from(line.split(' '))
                .unwrap_err()
                .to_string();
            assert!(error.contains(missing), "{wrong}: {error}");
        }
    }

    #[test]
    fn defaults_of_an_agent_are_for_a_pod() {
        let agent = |line: &str| {
            let args = Args::try_parse_from(line.split(' '))?;
            match args.request() {
                Request::RunAgent(agent) => Ok(agent),
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
            assert!(error.to_string().contains("such as 30s"), "{error}");
        }
    }
}
