//! What tests must not leave on the shared machine, and how it is removed after a test that failed.

use lab::Daemon;

use super::{Machine, fail};

/// Processes that stand for containers.
pub(super) const RUNTIME_PROCESSES: &str =
    "pgrep -l -x 'conmon|containerd-shim.*|runc.*|crun.*' || true";

/// One line for everything that is not as it was after boot. A runtime's process may take a moment
/// to end after its container.
const LEFTOVERS: &str = r#"
processes() { pgrep -l -x 'conmon|containerd-shim.*|runc.*|crun.*|scx_.*'; pgrep -a -x schedctl; }
for _ in $(seq 50); do [ -n "$(processes)" ] || break; sleep 0.1; done
processes | sed 's/^/process /'
echo "$(cat /sys/kernel/sched_ext/state)" | grep -vx disabled | sed 's/^/sched_ext is /'
podman ps --all --format '{{.Names}}' | sed 's/^/Podman container /'
for space in $(ctr namespaces list --quiet); do
	ctr --namespace "$space" containers list --quiet | sed "s/^/containerd container $space\//"
done
ls /run/schedctl/trial.json 2>/dev/null
grep '^lab-cover ' /proc/mounts
grep -vx 1 /sys/devices/system/cpu/cpu1/online | sed 's/^/processor 1 online: /'
[ -S /run/podman/podman.sock ] && podman --url unix:///run/podman/podman.sock version >/dev/null || echo "Podman's service does not answer"
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
