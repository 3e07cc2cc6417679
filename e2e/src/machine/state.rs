//! What tests must not leave on the shared machine, and how it is removed after a test that failed.

use lab::Daemon;

use super::{Machine, fail};

/// Processes that stand for containers.
pub(super) const RUNTIME_PROCESSES: &str =
    "pgrep -l -x 'conmon|containerd-shim.*|runc.*|crun.*' || true";

/// One line for everything that is not as it was after boot. A process may take a moment to end
/// after its container. Reads files where it can: a start of podman or ctr takes long there.
const LEFTOVERS: &str = r#"
processes() { pgrep -a -x 'conmon|containerd-shim.*|runc.*|crun.*|scx_.*|schedctl.*'; }
for _ in $(seq 50); do processes >/dev/null || break; sleep 0.1; done
processes | sed 's/^/process /'
grep -vx disabled /sys/kernel/sched_ext/state | sed 's/^/sched_ext is /'
cat /var/lib/containers/storage/*-containers/*containers.json 2>/dev/null |
	grep -o '"names":\["[^"]*"' | sed 's/^/Podman container /'
for space in schedkit default; do
	ctr --namespace $space containers list --quiet | sed "s/^/containerd container $space\//"
done
ls /run/schedctl/trial.json /run/lab/*.off 2>/dev/null
grep '^lab-cover ' /proc/mounts
grep -vx 1 /sys/devices/system/cpu/cpu1/online | sed 's/^/processor 1 online: /'
true
"#;

/// Removes all of it.
const CLEAR: &str = r#"
grep '^lab-cover ' /proc/mounts | while read -r _ folder _; do umount --lazy "$folder"; done
echo 1 >/sys/devices/system/cpu/cpu1/online
rm -f /run/schedctl/trial.json
pkill -KILL -x schedctl
[ -z "$(podman ps --all --quiet)" ] || podman rm --all --force --time 5 >/dev/null
for space in $(ctr namespaces list --quiet); do
	export CONTAINERD_NAMESPACE=$space
	for task in $(ctr tasks list --quiet); do ctr tasks delete --force "$task"; done
	for container in $(ctr containers list --quiet); do ctr containers delete "$container"; done
done >/dev/null 2>&1
exit 0
"#;

impl Machine {
    pub(super) fn leftovers(&self) -> String {
        let output = self.node().shell(LEFTOVERS).unwrap_or_else(fail);
        output.text().trim().to_owned()
    }

    pub(super) fn clear(&self) {
        // A second panic during the drop of a turn would abort the whole suite.
        for daemon in Daemon::ALL {
            let _ = self.node().start(daemon);
        }
        let _ = self.node().shell(CLEAR);
    }
}
