//! One machine with systemd for all tests of the suite, one test at a time.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use lab::{Init, LabSpec, SchedctlHost, ssh};
use serde_json::Value;
use testkit::Machine;
use testkit::machine::fail;
use testkit::program::labs;

use super::network::Network;

pub(crate) const UNIT: &str = "schedctl@scx_lab.service";
const NODE: &str = "node1";

pub(crate) struct BootMachine {
    machine: Machine,
    network: Cell<Network>,
}

/// What systemd says about a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitState {
    pub(crate) active: String,
    pub(crate) sub: String,
    pub(crate) result: String,
    pub(crate) exit_code: String,
    pub(crate) restarts: String,
}

impl UnitState {
    pub(crate) fn summary(&self) -> String {
        let Self {
            active,
            sub,
            result,
            exit_code,
            restarts,
        } = self;
        format!("{active} ({sub}), {result}, exit code {exit_code}, {restarts} restarts")
    }
}

impl Deref for BootMachine {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}

/// A turn on the machine: the registry answers, no unit is enabled, nothing runs.
pub(crate) fn boot_machine() -> MutexGuard<'static, BootMachine> {
    static MACHINE: OnceLock<Mutex<BootMachine>> = OnceLock::new();
    let machine = MACHINE.get_or_init(|| {
        let spec = LabSpec {
            init: Init::Systemd,
            // With two, an assertion of QEMU's (iotlb_to_section) failed in one of six boots.
            processors: 1,
            ..SchedctlHost::spec("e2e-boot", &labs())
        };
        let machine = Machine::up(&spec);
        machine.shell("sync");
        let network = Cell::new(Network::Up);
        Mutex::new(BootMachine { machine, network })
    });
    let machine = machine.lock().unwrap_or_else(PoisonError::into_inner);
    machine.reset();
    machine
}

impl BootMachine {
    fn reset(&self) {
        self.set_network(Network::Up);
        self.use_driver("podman");
        self.must(&["disable"]);
        self.shell(
            "systemctl stop 'schedctl@*.service'; systemctl reset-failed
             podman rm --all --force --time 5 >/dev/null",
        );
        self.await_default();
    }

    pub(crate) fn set_network(&self, network: Network) {
        let before = self.network.replace(network);
        if before != network {
            Network::change(self.host().lab(), before, network);
        }
    }

    /// The driver that the settings file has, for the unit and for every command.
    pub(crate) fn use_driver(&self, driver: &str) {
        let file = "/etc/schedctl/config.toml";
        self.shell(&format!(
            "sed -i '/^driver = /d' {file}; sed -i '1i driver = \"{driver}\"' {file}"
        ));
    }

    pub(crate) fn enable(&self) -> Value {
        self.expect(0, &["enable", "scx_lab"])
    }

    /// Ends the machine as a power cut would.
    pub(crate) fn cut_power(&self) {
        self.host().lab().cut_power(NODE).unwrap_or_else(fail);
    }

    /// Does not wait for anything.
    pub(crate) fn power_on(&self) {
        self.host().lab().start_service(NODE).unwrap_or_else(fail);
    }

    /// Asks systemd for a reboot. Does not wait for anything.
    pub(crate) fn reboot(&self) {
        self.node().shell("systemctl reboot").unwrap();
        ssh::close(self.host().lab().state(), NODE);
    }

    /// Which boot the machine is in; nothing while it cannot be reached.
    pub(crate) fn boot_id(&self) -> Option<String> {
        let node = self.node();
        let id = node
            .is_reachable()
            .then(|| self.ask("cat /proc/sys/kernel/random/boot_id"));
        id.flatten()
    }

    /// Output of a script that succeeds; nothing while the machine cannot be reached.
    pub(crate) fn ask(&self, script: &str) -> Option<String> {
        let output = self.node().shell(script).unwrap();
        (output.status == 0).then(|| output.stdout.trim().to_owned())
    }

    pub(crate) fn unit(&self) -> Option<UnitState> {
        let properties = [
            "ActiveState",
            "SubState",
            "Result",
            "ExecMainStatus",
            "NRestarts",
        ];
        let text = self.ask(&format!(
            "systemctl show --property={} {UNIT}",
            properties.join(",")
        ))?;
        let [active, sub, result, exit_code, restarts] = properties.map(|property| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(property)?.strip_prefix('='));
            value.unwrap_or_default().to_owned()
        });
        Some(UnitState {
            active,
            sub,
            result,
            exit_code,
            restarts,
        })
    }

    #[track_caller]
    pub(crate) fn await_unit(&self, what: &str, holds: impl Fn(&UnitState) -> bool) -> UnitState {
        let mut unit = None;
        testkit::eventually_or(
            what,
            testkit::wait::NODE_TIMEOUT,
            || {
                unit = self.unit();
                unit.clone().filter(&holds)
            },
            || self.explain(),
        )
    }

    /// What somebody would read who finds the scheduler missing.
    pub(crate) fn explain(&self) -> String {
        let script = format!(
            "systemctl status --no-pager --full --lines 20 {UNIT}; schedctl status; cat /sys/kernel/sched_ext/state"
        );
        self.node().shell(&script).unwrap().text()
    }

    /// Why the scheduler does not run: what `status` says, or else the last line that schedctl wrote
    /// as the unit in this boot. Empty if neither says anything.
    pub(crate) fn reason(&self) -> String {
        let document = self.json(&["status"]).1;
        let warnings = document["warnings"].as_array();
        let said = warnings.into_iter().flatten();
        let said = said.chain([&document["discrepancy"], &document["error"]["message"]]);
        let said: Vec<&str> = said.filter_map(Value::as_str).collect();
        if !said.is_empty() {
            return format!("status: {}", said.join("; "));
        }
        let script = format!(
            "journalctl --boot --unit {UNIT} --identifier schedctl --output cat --lines 1 --no-pager"
        );
        self.ask(&script).unwrap_or_default()
    }
}
