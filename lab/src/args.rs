//! The arguments of the `lab` command.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use lab::cache::Cache;
use lab::spec::DEFAULT_KERNEL;
use lab::{Goal, Init, LabSpec, Scheduler, Signing, State, Topology};

/// Real sched_ext kernels and a real Kubernetes on one small machine.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the lab: several can run at the same time.
    #[arg(long, global = true, default_value = "default", env = "SCHEDKIT_LAB", value_parser = lab_name)]
    name: String,
    /// Folder of the labs' state.
    #[arg(
        long,
        global = true,
        default_value = ".lab",
        env = "SCHEDKIT_LAB_STATE",
        value_name = "DIR"
    )]
    state: PathBuf,
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

const EXAMPLES: &str = "Examples:
  lab up --nodes 2                    a cluster of two nodes; Ctrl-C ends it
  lab up --detach                     the same with one node, in the background
  lab up --topology machine           one virtual machine without Kubernetes
  lab up --topology machine --init systemd
                                      the same, booted by systemd; its disk survives a reboot
  lab up --topology registry          registries only, with scheduler images in them
  lab exec node1 -- cat /sys/kernel/sched_ext/state
  lab cp ./scx_mine node1:/tmp/       copy a file to a node
  lab logs node1/kubelet              the kubelet's log
  KUBECONFIG=.lab/default/kubeconfig kubectl get nodes
  lab down                            end it

Environment:
  SCHEDKIT_CACHE      folder of the parts that labs share [default: ~/.cache/schedkit-lab]
  SCHEDKIT_LAB_ACCEL  QEMU's accelerator [default: tcg,thread=multi]";

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start a lab and keep it until Ctrl-C.
    Up(Up),
    /// Fetch and build everything that `up` needs, without starting a lab.
    Prepare(SpecArgs),
    /// Show whether the lab's services and nodes respond.
    Status {
        /// Output format.
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Run a command on a node; exits with the command's exit code.
    Exec {
        node: String,
        /// The command and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Copy a file or folder to or from a node.
    Cp {
        /// A path here, or NODE:PATH.
        from: String,
        /// A path here, or NODE:PATH.
        to: String,
    },
    /// Connect to a node's serial console; Ctrl-] disconnects.
    Console { node: String },
    /// Print a log; without a name, list the logs.
    Logs {
        /// kube-apiserver, node1 (its console), node1/kubelet, …
        what: Option<String>,
    },
    /// End a lab.
    Down,
    /// List the kernels in Debian's archive, the newest of each series.
    Kernels,
    /// Print the path of a program that `make` and the tests use; fetch or build it if it is missing.
    Tool {
        #[arg(value_enum)]
        tool: Tool,
    },
    /// Connect standard input and output to a node's serial line; ssh runs it.
    #[command(hide = true)]
    SerialLine { socket: PathBuf },
    /// The process that holds a lab; `up` starts it in its own namespaces.
    #[command(hide = true)]
    Supervisor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    Helm,
    /// In the same folder as promtool.
    Prometheus,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SpecArgs {
    /// Number of nodes.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    nodes: u8,
    /// Kernel series (6.18) or exact release; see `lab kernels`.
    #[arg(long, default_value = DEFAULT_KERNEL, value_name = "VERSION")]
    kernel: String,
    /// Which parts of a cluster the lab has.
    #[arg(long, value_enum, default_value_t = Topology::Cluster)]
    topology: Topology,
    /// Scheduler whose image the registry holds; may be repeated.
    #[arg(long = "scheduler", value_enum, default_values_t = [Scheduler::ScxLab], value_name = "NAME")]
    schedulers: Vec<Scheduler>,
    /// Simulate the kubelets of nodes with the label lab.schedkit.io/kwok=true.
    #[arg(long)]
    kwok: bool,
    /// Build scx_lab for arm64, too.
    #[arg(long)]
    arm64: bool,
    /// Programs that sign and verify; cosign takes a quarter of an hour to build.
    #[arg(long, value_enum, default_value_t = Signing::None, value_name = "PROGRAMS")]
    signing: Signing,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    #[command(flatten)]
    spec: SpecArgs,
    /// The first process of the virtual machines.
    #[arg(long, value_enum, default_value_t = Init::Lab)]
    init: Init,
    /// Return when the lab is ready and leave it running until `lab down`.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Port of the API server on 127.0.0.1 [default: any free one].
    #[arg(long, value_name = "PORT")]
    api_port: Option<u16>,
    /// Port of the registry on 127.0.0.1 [default: any free one].
    #[arg(long, value_name = "PORT")]
    registry_port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
}

impl Args {
    pub(crate) fn state(&self) -> State {
        State::new(self.default_spec().state)
    }

    pub(crate) fn cache(&self) -> Cache {
        Cache::new(self.default_spec().cache)
    }

    pub(crate) fn spec(&self, up: &Up) -> LabSpec {
        LabSpec {
            api_port: up.api_port,
            registry_port: up.registry_port,
            init: up.init,
            goal: Goal::Running,
            ..self.prepare_spec(&up.spec)
        }
    }

    pub(crate) fn prepare_spec(&self, args: &SpecArgs) -> LabSpec {
        LabSpec {
            goal: Goal::Prepared,
            topology: args.topology,
            nodes: args.nodes,
            kernel: args.kernel.clone(),
            schedulers: args.schedulers.clone(),
            kwok: args.kwok,
            arm64: args.arm64,
            signing: args.signing,
            ..self.default_spec()
        }
    }

    fn default_spec(&self) -> LabSpec {
        LabSpec::new(&self.name, Topology::Cluster, &self.state)
    }
}

/// The name is also that of a folder.
fn lab_name(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty() && name.len() <= 40 && name.chars().all(plain) {
        Ok(name.to_owned())
    } else {
        Err("a lab's name has 1 to 40 characters of a-z, 0-9 and -".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn clap_accepts_the_definition() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_name_cannot_be_a_path() {
        assert!(lab_name("ci-1").is_ok());
        for bad in ["", "..", "a/b", "A", "a b", &"x".repeat(41)] {
            assert!(lab_name(bad).is_err(), "{bad:?}");
        }
    }
}
