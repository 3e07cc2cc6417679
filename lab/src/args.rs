//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use lab::cache::Cache;
use lab::spec::DEFAULT_KERNEL;
use lab::{Goal, LabSpec, Scheduler, Signing, State, Topology};

/// Real sched_ext kernels and a real Kubernetes on one small machine.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which lab: several can run side by side.
    #[arg(long, global = true, default_value = "default", env = "SCHEDKIT_LAB", value_parser = lab_name)]
    name: String,
    /// Folder of the running labs' state.
    #[arg(
        long,
        global = true,
        default_value = ".lab",
        env = "SCHEDKIT_LAB_STATE",
        value_name = "DIR"
    )]
    state: PathBuf,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXAMPLES: &str = "Examples:
  lab up --nodes 2                    a cluster of two nodes; Ctrl-C ends it
  lab up --detach                     the same with one node, in the background
  lab up --topology machine             one virtual machine without Kubernetes
  lab up --topology registry            registries only, with scheduler images in them
  lab exec node1 -- cat /sys/kernel/sched_ext/state
  lab cp ./scx_mine node1:/tmp/       copy a file to a node
  lab logs node1/kubelet              what the kubelet there says
  KUBECONFIG=.lab/default/kubeconfig kubectl get nodes
  lab down                            end it

Environment:
  SCHEDKIT_CACHE      folder of what is kept between labs [~/.cache/schedkit-lab]
  SCHEDKIT_LAB_ACCEL  QEMU's accelerator [tcg,thread=multi]";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Bring a lab up and hold it until Ctrl-C.
    Up(Up),
    /// Fetch and build everything that `up` would need, and start nothing.
    Prepare(Wanted),
    /// Show what runs, and whether it answers.
    Status {
        /// How to print it.
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Run a command on a node; its exit code becomes ours.
    Exec {
        /// The node.
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
    /// Talk to a node's serial console; Ctrl-] leaves it.
    Console {
        /// The node.
        node: String,
    },
    /// Print a log; without a name, list what there is.
    Logs {
        /// kube-apiserver, node1 (its console), node1/kubelet, …
        what: Option<String>,
    },
    /// End a lab.
    Down,
    /// List the kernels that Debian offers, the newest of each series.
    Kernels,
    /// Print where a program is that `make` and the tests use, fetched or built first when it is missing.
    Tool {
        /// Which one.
        #[arg(value_enum)]
        tool: Tool,
    },
    /// Carry bytes between our standard streams and a node's serial line; for ssh, not for people.
    #[command(hide = true)]
    Line {
        /// The line's socket.
        socket: PathBuf,
    },
    /// What `up` starts in namespaces of its own; not for people.
    #[command(hide = true)]
    Supervisor,
}

/// A program that no lab runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// Puts manifests together.
    Kustomize,
    /// Installs charts.
    Helm,
    /// Scrapes and watches; promtool is beside it.
    Prometheus,
}

/// What a lab consists of.
#[derive(Debug, clap::Args)]
pub(crate) struct Wanted {
    /// How many nodes.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    nodes: u8,
    /// Kernel series (6.18) or exact release; see `lab kernels`.
    #[arg(long, default_value = DEFAULT_KERNEL, value_name = "VERSION")]
    kernel: String,
    /// How much of a cluster.
    #[arg(long, value_enum, default_value_t = Topology::Cluster)]
    topology: Topology,
    /// Which schedulers' images the registry holds; repeat for several.
    #[arg(long = "scheduler", value_enum, default_values_t = [Scheduler::ScxLab], value_name = "NAME")]
    schedulers: Vec<Scheduler>,
    /// Let kwok play nodes that are objects only: create Nodes labelled lab.schedkit.io/kwok=true.
    #[arg(long)]
    kwok: bool,
    /// Which programs that sign and verify to hold ready; cosign takes a quarter of an hour to build.
    #[arg(long, value_enum, default_value_t = Signing::None, value_name = "PROGRAMS")]
    signing: Signing,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    #[command(flatten)]
    wanted: Wanted,
    /// Return when the lab is ready and leave it running; `lab down` ends it.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Fixed port of the API server on 127.0.0.1 [default: any free one].
    #[arg(long, value_name = "PORT")]
    api_port: Option<u16>,
    /// Fixed port of the registry on 127.0.0.1 [default: any free one].
    #[arg(long, value_name = "PORT")]
    registry_port: Option<u16>,
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Args {
    /// The state of the lab that is meant.
    pub(crate) fn state(&self) -> State {
        State::new(self.default_spec().state)
    }

    /// The cache that is meant.
    pub(crate) fn cache(&self) -> Cache {
        Cache::new(self.default_spec().cache)
    }

    /// The order for `up`.
    pub(crate) fn spec(&self, up: &Up) -> LabSpec {
        LabSpec {
            api_port: up.api_port,
            registry_port: up.registry_port,
            goal: Goal::Running,
            ..self.prepare_spec(&up.wanted)
        }
    }

    /// The order for `prepare`.
    pub(crate) fn prepare_spec(&self, wanted: &Wanted) -> LabSpec {
        LabSpec {
            goal: Goal::Prepared,
            topology: wanted.topology,
            nodes: wanted.nodes,
            kernel: wanted.kernel.clone(),
            schedulers: wanted.schedulers.clone(),
            kwok: wanted.kwok,
            signing: wanted.signing,
            ..self.default_spec()
        }
    }

    fn default_spec(&self) -> LabSpec {
        LabSpec::new(&self.name, Topology::Cluster, &self.state)
    }
}

/// A name becomes a folder and part of messages, so it is kept plain.
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
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_name_is_no_path() {
        assert!(lab_name("ci-1").is_ok());
        for bad in ["", "..", "a/b", "A", "a b", &"x".repeat(41)] {
            assert!(lab_name(bad).is_err(), "{bad:?}");
        }
    }
}
