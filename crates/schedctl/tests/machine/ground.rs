//! The one machine of this program's tests, and what they all ask it.

#![allow(dead_code, reason = "each subject uses its own part of it")]

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use lab::node::KernelLine;
use lab::oci::{File, Image};
use lab::parts::scheduler;
use lab::{CommandOutput, Daemon, Lab, Node, SchedctlHost};
use serde_json::{Value, json};

/// An emulated processor is slow, and a busy machine makes it slower.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How the runtimes are asked to run a scheduler without schedctl, as the contract says.
pub(crate) const PODMAN: &str = "podman run --privileged --pid=host --network=host \
     --volume /boot:/boot:ro --volume /var/run/scx:/var/run/scx";

/// Both runtimes, as schedctl's `--driver` calls them.
pub(crate) const DRIVERS: [&str; 2] = ["podman", "containerd"];

/// For a test whose subject is not the runtime: both when time does not matter, otherwise the one
/// that is named.
pub(crate) fn drivers_or(usual: &'static str) -> Vec<&'static str> {
    if cfg!(feature = "long") {
        DRIVERS.to_vec()
    } else {
        vec![usual]
    }
}

/// A turn on the machine.
pub(crate) struct Machine {
    host: &'static SchedctlHost,
    _turn: MutexGuard<'static, ()>,
}

/// Waits for a turn on the machine, whose kernel then runs its own scheduler and whose runtimes
/// run and hold no container. The kernel takes one scheduler, so there is one turn at a time.
pub(crate) fn machine() -> Machine {
    static HOST: OnceLock<SchedctlHost> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let machine = Machine {
        host: HOST.get_or_init(host),
        _turn: turn,
    };
    machine.clear();
    machine
}

fn host() -> SchedctlHost {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
    let up = || Lab::up(&SchedctlHost::spec("test-schedctl", &labs), |_| {}).unwrap_or_else(fail);
    let lab = timed("bringing the lab up", up);
    let ready = || {
        SchedctlHost::set_up(lab, Path::new(env!("CARGO_BIN_EXE_schedctl"))).unwrap_or_else(fail)
    };
    timed("readying the machine", ready)
}

/// Tells the test's log how long something took; nobody is judged by it.
pub(crate) fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = work();
    println!("{what}: {:.1} s", begin.elapsed().as_secs_f64());
    result
}

pub(crate) fn fail<T, E: std::error::Error>(error: E) -> T {
    panic!("{}", lab::error_chain(&error))
}

impl Machine {
    pub(crate) fn node(&self) -> Node<'static> {
        self.host.node().unwrap_or_else(fail)
    }

    pub(crate) fn host(&self) -> &'static SchedctlHost {
        self.host
    }

    /// Runs schedctl to its end.
    pub(crate) fn schedctl(&self, words: &[&str]) -> CommandOutput {
        self.host.schedctl(words).unwrap_or_else(fail)
    }

    /// Runs schedctl, which must end well.
    pub(crate) fn must(&self, words: &[&str]) -> String {
        let said = self.schedctl(words);
        assert_eq!(said.status, 0, "schedctl {words:?}: {}", said.text());
        said.stdout
    }

    /// Runs schedctl with `-o json` and gives its exit code and its document.
    pub(crate) fn json(&self, words: &[&str]) -> (i32, Value) {
        let said = self.schedctl(&[words, &["-o", "json"]].concat());
        let document = serde_json::from_str(&said.stdout);
        let document = document.unwrap_or_else(|error| {
            panic!("schedctl {words:?}: {error}: {}", said.text());
        });
        (said.status, document)
    }

    /// What `status` says, and its exit code.
    pub(crate) fn status(&self, driver: &str) -> (i32, String) {
        let (code, document) = self.json(&["-d", driver, "status"]);
        let status = document["status"].as_str().unwrap_or_default().to_owned();
        (code, status)
    }

    /// Everything that `status` says, as text: its warnings, too.
    pub(crate) fn told(&self) -> String {
        self.json(&["status"]).1.to_string()
    }

    /// All containers of ours that the runtimes themselves know of, running or not.
    pub(crate) fn containers(&self) -> usize {
        self.shell(
            "podman ps --all --quiet --filter label=provider=schedkit
             ctr --namespace schedkit containers list --quiet",
        )
        .lines()
        .count()
    }

    /// The number of the latest attach.
    pub(crate) fn enable_seq(&self) -> u64 {
        let text = self.shell("cat /sys/kernel/sched_ext/enable_seq");
        text.parse().unwrap()
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let waited = self
            .node()
            .eventually(what, PATIENCE, || Ok(so(self).then_some(())));
        waited.unwrap_or_else(fail);
    }

    /// Waits until the kernel has attached the scheduler of this name.
    pub(crate) fn await_ops(&self, name: &str) {
        self.until(&format!("{name} is attached"), |machine| {
            machine.ops().is_some_and(|ops| ops.starts_with(name))
        });
    }

    /// Waits until no trial goes on and nobody stands by.
    pub(crate) fn await_no_trial(&self) {
        self.until("the trial is over", |machine| {
            machine.guards().is_empty()
                && machine
                    .shell("ls /run/schedctl")
                    .lines()
                    .all(|name| name != "trial.json")
        });
    }

    /// The processes that stand by during a trial.
    pub(crate) fn guards(&self) -> Vec<String> {
        let pids = self.shell("pgrep -f '^[^ ]*schedctl .*guard' || true");
        pids.lines().map(str::to_owned).collect()
    }

    /// Runs schedctl, and kills it `later` seconds after it began a step, unless it had ended by
    /// then.
    pub(crate) fn killed_at(&self, step: &str, later: &str, words: &[&str]) {
        self.signalled_at("KILL", step, later, words);
    }

    /// Runs schedctl, which gets a signal so many seconds after a step began.
    pub(crate) fn signalled_at(&self, signal: &str, step: &str, later: &str, words: &[&str]) {
        let script = ["bash", "-c", SIGNALLED_AT, "bash", signal, step, later];
        let words = [&script[..], words].concat();
        let said = self.node().run(&words).unwrap();
        assert_eq!(said.status, 0, "{words:?}: {}", said.text());
        println!("{step} + {later} s: {}", said.stdout.trim());
    }

    /// No runtime's process waits for a container that is gone, be it one that never started.
    pub(crate) fn await_nobody_waiting(&self) {
        self.eventually("no container has a process", || {
            let count = "pgrep -c -x 'conmon|containerd-shim.*|runc.*|crun.*' || true";
            self.shell(count).trim() == "0"
        });
    }

    /// Runs a script, which must end well.
    pub(crate) fn shell(&self, script: &str) -> String {
        self.node().must(script).unwrap_or_else(fail)
    }

    /// `registry/repository:tag` as the machine says it.
    pub(crate) fn image(&self, name: &str) -> String {
        self.host.reference(name)
    }

    /// Attaches scx_lab under this name without schedctl, as anybody may.
    pub(crate) fn by_hand(&self, ops: &str) {
        let image = self.image("scx_lab");
        self.shell(&format!(
            "{PODMAN} --detach --name by-hand --tls-verify=false {image} --name {ops} >/dev/null"
        ));
        let what = format!("{ops} is attached by hand");
        self.eventually(&what, || self.ops().as_deref() == Some(ops));
    }

    /// Ends what was attached by hand.
    pub(crate) fn end_by_hand(&self) {
        self.shell("podman rm --force by-hand >/dev/null");
        self.await_default();
    }

    /// Runs scx_lab so that it takes longer to attach than any test takes; gives its container.
    pub(crate) fn slow(&self, driver: &str) -> String {
        let run = ["-d", driver, "run", "scx_lab", "--no-wait", "-o", "json"];
        let slow = ["--", "--fault", "slow-attach", "--after", "1h"];
        let out = self.must(&[&run[..], &slow].concat());
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["result"], "started", "{document}");
        document["container_id"].as_str().unwrap().to_owned()
    }

    /// Nothing of ours is there, and the kernel runs its own scheduler.
    pub(crate) fn must_be_clean(&self, driver: &str) {
        assert_eq!(self.ops(), None);
        let (code, document) = self.json(&["-d", driver, "status"]);
        assert_eq!(
            (code, &document["status"]),
            (0, &"idle".into()),
            "{document:#}"
        );
        assert_eq!(document["containers"], Value::Array(Vec::new()));
        assert_eq!(document["warnings"], Value::Array(Vec::new()));
        assert_eq!(self.must(&["-d", driver, "ps"]).lines().count(), 1);
    }

    /// Waits until it is so.
    pub(crate) fn eventually(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let ask = || Ok(is_so().then_some(()));
        let waited = self.node().eventually(what, PATIENCE, ask);
        waited.unwrap_or_else(fail);
    }

    /// Lays something empty over a folder, of at most this many bytes, until the end of the turn.
    pub(crate) fn cover(&self, folder: &str, size: &str) {
        self.shell(&format!("mount -t tmpfs -o size={size} lab-cover {folder}"));
    }

    /// Takes away what lies over a folder.
    pub(crate) fn uncover(&self, folder: &str) {
        self.shell(&format!("umount --lazy {folder}"));
    }

    /// Puts scx_lab into another repository, unsigned, with this command and for this processor;
    /// [`Host::sign_all`] signs it.
    pub(crate) fn push(&self, repository: &str, tag: &str, architecture: &str, command: &[&str]) {
        let (entrypoint, arguments) = command.split_at(command.len().min(1));
        let config = json!({"Entrypoint": entrypoint, "Cmd": arguments});
        self.push_configured(repository, tag, architecture, &config);
    }

    /// The same with all that an image's configuration can say.
    pub(crate) fn push_configured(
        &self,
        repository: &str,
        tag: &str,
        architecture: &str,
        config: &Value,
    ) {
        let cache = lab::cache::Cache::new(lab::environment::cache_folder());
        let program = scheduler::own_program(&cache).expect("the lab built it");
        let file = File {
            from: program,
            to: "/scx_lab".into(),
        };
        let image = Image::configured(architecture, &[file], config).unwrap();
        let pushed = self.host.registry().push_image(repository, tag, &image);
        pushed.unwrap_or_else(fail);
    }

    /// What the kernel says: the attached scheduler's name, or nothing. The name alone would say
    /// too much: it is there a while before the scheduler is enabled.
    pub(crate) fn ops(&self) -> Option<String> {
        let script = "cd /sys/kernel/sched_ext; ! grep -qx enabled state || cat root/ops";
        Some(self.shell(script)).filter(|ops| !ops.is_empty())
    }

    /// Puts a line into the kernel's log: the time from which [`Machine::kernel_said`] looks.
    pub(crate) fn mark(&self, text: &str) -> KernelLine {
        self.node().mark(text).unwrap_or_else(fail)
    }

    /// Waits for the kernel to say something after a mark, and tells how long after.
    pub(crate) fn kernel_said(&self, mark: &KernelLine, words: &str) -> Duration {
        let line = self.node().await_kernel(mark, words, PATIENCE);
        line.unwrap_or_else(fail).at - mark.at
    }

    /// Waits until the kernel has no scheduler but its own.
    pub(crate) fn await_default(&self) {
        let node = self.node();
        let waited = node.eventually("the kernel runs its own scheduler", PATIENCE, || {
            let state = node.must("cat /sys/kernel/sched_ext/state")?;
            Ok((state == "disabled").then_some(()))
        });
        waited.unwrap_or_else(fail);
    }

    /// What a failed test left is not the next one's fault.
    fn clear(&self) {
        for daemon in Daemon::ALL {
            self.node().start(daemon).unwrap_or_else(fail);
        }
        self.shell(CLEAR);
        self.await_default();
    }
}

/// Whatever lies over a folder; whatever namespace and label a container has; every processor is
/// back; no trial goes on.
const CLEAR: &str = r#"
grep '^lab-cover ' /proc/mounts | while read -r _ folder _; do umount --lazy "$folder"; done
echo 1 >/sys/devices/system/cpu/cpu1/online
rm -f /run/schedctl/trial.json
while pgrep -f '^[^ ]*schedctl .*guard' >/dev/null; do sleep 0.1; done
[ -z "$(podman ps --all --quiet)" ] || podman rm --all --force --time 5 >/dev/null
for space in $(ctr namespaces list --quiet); do
	export CONTAINERD_NAMESPACE=$space
	for task in $(ctr tasks list --quiet); do ctr tasks delete --force "$task"; done
	for container in $(ctr containers list --quiet); do ctr containers delete "$container"; done
done >/dev/null 2>&1
exit 0
"#;

const SIGNALLED_AT: &str = r#"
signal=$1; step=$2; later=$3; shift 3
said=$(mktemp)
schedctl --log-level info "$@" >"$said" 2>&1 &
until grep -q "\b$step: " "$said" || ! kill -0 $!; do sleep 0.01; done 2>/dev/null
grep -q "\b$step: " "$said" || { cat "$said"; exit 1; }
sleep "$later"
kill -"$signal" $! 2>/dev/null
wait $! 2>/dev/null
echo "ended with $?"
rm "$said"
"#;
