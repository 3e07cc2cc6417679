//! One virtual machine with a sched_ext kernel, Podman, containerd and schedctl, for all tests of a
//! suite, one test at a time: the kernel takes one scheduler.

mod state;

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use lab::oci::{File, Image};
use lab::parts::scheduler;
use lab::{CommandOutput, Daemon, Lab, LabSpec, Node, SchedctlHost, Scheduler};
use serde_json::{Value, json};

use crate::program;
use crate::program::labs;
use crate::wait::{NODE_TIMEOUT, eventually};

/// The values of schedctl's `--driver`.
pub const DRIVERS: [&str; 2] = ["podman", "containerd"];
/// How Podman runs a scheduler without schedctl.
pub const PODMAN_RUN: &str = "podman run --privileged --pid=host --network=host --tls-verify=false \
     --volume /boot:/boot:ro --volume /var/run/scx:/var/run/scx";

pub struct Machine {
    host: SchedctlHost,
}

/// A test's turn on the shared machine. When it ends the machine must be as it was: a test that
/// leaves a scheduler, a container, a trial, a process of a runtime, a mount, a stopped daemon or a
/// stopped processor behind fails.
pub struct MachineTurn {
    machine: &'static Machine,
    _turn: MutexGuard<'static, ()>,
}

/// A turn on the machine of this suite; its registry holds scx_lab.
pub fn machine() -> MachineTurn {
    turn(|| SchedctlHost::spec("e2e-machine", &labs()))
}

/// The same where the registry holds scx_bpfland, too, which takes minutes to build.
pub fn machine_with_bpfland() -> MachineTurn {
    turn(|| LabSpec {
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..SchedctlHost::spec("e2e-machine", &labs())
    })
}

fn turn(spec: impl FnOnce() -> LabSpec) -> MachineTurn {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let machine = MACHINE.get_or_init(|| Machine::up(&spec()));
    MachineTurn {
        machine,
        _turn: turn,
    }
}

impl Deref for MachineTurn {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        self.machine
    }
}

impl Drop for MachineTurn {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A test that failed could not clean up, and the next one is not to suffer for it.
            self.machine.clear();
            return;
        }
        let left = self.machine.leftovers();
        if !left.is_empty() {
            self.machine.clear();
            panic!("the test left this on the machine:\n{left}");
        }
    }
}

pub fn fail<T, E: std::error::Error>(error: E) -> T {
    panic!("{}", lab::error_chain(&error))
}

impl Machine {
    /// A machine of a test's own.
    pub fn up(spec: &LabSpec) -> Self {
        let lab = Lab::up(spec, |_| {}).unwrap_or_else(fail);
        let host = SchedctlHost::set_up(lab, &program::schedctl()).unwrap_or_else(fail);
        Self { host }
    }

    pub fn host(&self) -> &SchedctlHost {
        &self.host
    }

    pub fn node(&self) -> Node<'_> {
        self.host.node().unwrap_or_else(fail)
    }

    /// Runs a script, which must succeed; its standard output.
    #[track_caller]
    pub fn shell(&self, script: &str) -> String {
        self.node().must(script).unwrap_or_else(fail)
    }

    /// Runs schedctl to its end.
    pub fn schedctl(&self, args: &[&str]) -> CommandOutput {
        self.host.schedctl(args).unwrap_or_else(fail)
    }

    /// Runs schedctl, which must succeed; its standard output.
    #[track_caller]
    pub fn must(&self, args: &[&str]) -> String {
        let output = self.schedctl(args);
        assert_eq!(output.status, 0, "schedctl {args:?}: {}", output.text());
        output.stdout
    }

    /// Runs schedctl with `-o json` before any `--`; its exit code and its document.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let (own, schedulers) = match args.iter().position(|arg| *arg == "--") {
            Some(at) => args.split_at(at),
            None => (args, &[][..]),
        };
        let output = self.schedctl(&[own, &["-o", "json"], schedulers].concat());
        let document = serde_json::from_str(&output.stdout);
        let document = document.unwrap_or_else(|error| {
            panic!("schedctl {args:?}: {error}: {}", output.text());
        });
        (output.status, document)
    }

    /// The same; the exit code must be this one. The document, which must fit its schema: that of
    /// the command, or of an error where the code reports one.
    #[track_caller]
    pub fn expect(&self, code: i32, args: &[&str]) -> Value {
        let (status, document) = self.json(args);
        assert_eq!(status, code, "schedctl {args:?}: {document:#}");
        crate::schema::check(&document, args);
        document
    }

    /// `status` of the JSON document, and the exit code.
    #[track_caller]
    pub fn status(&self, driver: &str) -> (i32, String) {
        let (code, document) = self.json(&["-d", driver, "status"]);
        let status = document["status"].as_str().unwrap_or_default().to_owned();
        (code, status)
    }

    /// The whole document of `status` as text.
    pub fn status_text(&self) -> String {
        self.json(&["status"]).1.to_string()
    }

    /// The name of the scheduler that the kernel has attached. The kernel shows the name a while
    /// before the scheduler is enabled, so its state counts.
    #[track_caller]
    pub fn ops(&self) -> Option<String> {
        let script = "cd /sys/kernel/sched_ext; ! grep -qx enabled state || cat root/ops";
        Some(self.shell(script)).filter(|ops| !ops.is_empty())
    }

    /// How many schedulers the kernel has attached since it booted.
    pub fn enable_seq(&self) -> u64 {
        let text = self.shell("cat /sys/kernel/sched_ext/enable_seq");
        text.parse().unwrap()
    }

    /// Containers of schedctl's that the runtimes have, running or not.
    pub fn containers(&self) -> usize {
        self.shell(
            "podman ps --all --quiet --filter label=provider=schedkit
             ctr --namespace schedkit containers list --quiet",
        )
        .lines()
        .count()
    }

    /// The processes that guard a trial.
    pub fn guards(&self) -> Vec<String> {
        let pids = self.shell("pgrep -f '^[^ ]*schedctl .*guard' || true");
        pids.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        eventually(what, NODE_TIMEOUT, || holds().then_some(()));
    }

    /// Waits until the kernel has attached a scheduler whose name begins so.
    #[track_caller]
    pub fn await_ops(&self, name: &str) {
        self.until(&format!("{name} is attached"), || {
            self.ops().is_some_and(|ops| ops.starts_with(name))
        });
    }

    /// Waits until the kernel has no scheduler but its own.
    #[track_caller]
    pub fn await_default(&self) {
        self.until("the kernel runs its own scheduler", || {
            self.shell("cat /sys/kernel/sched_ext/state") == "disabled"
        });
    }

    /// Waits until no trial goes on and no process guards one.
    #[track_caller]
    pub fn await_no_trial(&self) {
        let over =
            "! pgrep -f '^[^ ]*schedctl .*guard' >/dev/null && ! [ -e /run/schedctl/trial.json ]";
        self.until("the trial is over", || {
            self.node().shell(over).unwrap().status == 0
        });
    }

    /// `registry/repository:tag` as the machine names it.
    pub fn image(&self, name: &str) -> String {
        self.host.reference(name)
    }

    /// Attaches scx_lab under this name without schedctl.
    #[track_caller]
    pub fn attach_by_hand(&self, ops: &str) {
        let image = self.image("scx_lab");
        self.shell(&format!(
            "{PODMAN_RUN} --detach --name by-hand {image} --name {ops} >/dev/null"
        ));
        self.await_ops(ops);
    }

    /// Ends what was attached by hand.
    #[track_caller]
    pub fn detach_by_hand(&self) {
        self.shell("podman rm --force by-hand >/dev/null");
        self.await_default();
    }

    /// Runs scx_lab so that it takes longer to attach than any test takes; its container's ID.
    #[track_caller]
    pub fn start_without_attaching(&self, driver: &str) -> String {
        let run = ["-d", driver, "run", "scx_lab", "--no-wait"];
        let slow = ["--", "--fault", "slow-attach", "--after", "1h"];
        let document = self.expect(0, &[&run[..], &slow].concat());
        assert_eq!(document["result"], "started", "{document}");
        document["container_id"].as_str().unwrap().to_owned()
    }

    /// schedctl runs nothing and knows of nothing, and the kernel runs its own scheduler.
    #[track_caller]
    pub fn must_be_idle(&self, driver: &str) {
        let document = self.expect(0, &["-d", driver, "status"]);
        assert_eq!(document["status"], "idle", "{document:#}");
        assert_eq!(document["kernel"]["ops"], Value::Null);
        assert_eq!(document["containers"], json!([]));
        assert_eq!(document["warnings"], json!([]));
    }

    /// Runs schedctl and sends it a signal so many seconds after it began a step, unless it has
    /// ended by then.
    #[track_caller]
    pub fn signal_at(&self, signal: &str, step: &str, seconds: &str, args: &[&str]) {
        let script = ["bash", "-c", SIGNAL_AT, "bash", signal, step, seconds];
        let args = [&script[..], args].concat();
        let output = self.node().run(&args).unwrap();
        assert_eq!(output.status, 0, "{args:?}: {}", output.text());
        println!("{step} + {seconds} s: {}", output.stdout.trim());
    }

    /// Waits until the runtimes have no process for a container, be it one that never started.
    #[track_caller]
    pub fn await_no_runtime_process(&self) {
        self.until("no container has a process", || {
            self.shell(state::RUNTIME_PROCESSES).is_empty()
        });
    }

    /// Mounts an empty file system of at most this size over a folder.
    pub fn cover(&self, folder: &str, size: &str) {
        self.shell(&format!("mount -t tmpfs -o size={size} lab-cover {folder}"));
    }

    /// Unmounts it.
    pub fn uncover(&self, folder: &str) {
        self.shell(&format!("umount --lazy {folder}"));
    }

    /// Pushes scx_lab into another repository, unsigned, with this command line.
    pub fn push(&self, repository: &str, tag: &str, command: &[&str]) {
        let (entrypoint, arguments) = command.split_at(command.len().min(1));
        let config = json!({"Entrypoint": entrypoint, "Cmd": arguments});
        self.push_configured(repository, tag, "amd64", &config);
    }

    /// The same for another processor or with another image configuration.
    pub fn push_configured(&self, repository: &str, tag: &str, processor: &str, config: &Value) {
        let cache = lab::cache::Cache::new(lab::environment::cache_folder());
        let program = scheduler::own_program(&cache).expect("the lab built it");
        let file = File {
            from: program,
            to: "/scx_lab".into(),
        };
        let image = Image::configured(processor, &[file], config).unwrap();
        let pushed = self.host.registry().push_image(repository, tag, &image);
        pushed.unwrap_or_else(fail);
    }

    /// Signs what is in a repository by the key that the machine trusts.
    pub fn sign(&self, repository: &str) {
        self.host.sign_all(repository).unwrap_or_else(fail);
    }

    pub fn stop_daemon(&self, daemon: Daemon) {
        self.node().stop(daemon).unwrap_or_else(fail);
    }

    pub fn start_daemon(&self, daemon: Daemon) {
        self.node().start(daemon).unwrap_or_else(fail);
    }
}

const SIGNAL_AT: &str = r#"
signal=$1; step=$2; seconds=$3; shift 3
output=$(mktemp)
schedctl --log-level info "$@" >"$output" 2>&1 &
until grep -q "\b$step: " "$output" || ! kill -0 $!; do sleep 0.01; done 2>/dev/null
grep -q "\b$step: " "$output" || { cat "$output"; exit 1; }
sleep "$seconds"
kill -"$signal" $! 2>/dev/null
wait $! 2>/dev/null
echo "ended with $?"
rm "$output"
"#;
