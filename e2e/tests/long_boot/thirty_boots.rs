//! After each of thirty boots the enabled scheduler is attached, whether the registry answers or not:
//! `enable` has kept its verdict and its image. Prints a table.

use std::fmt;
use std::time::{Duration, Instant};

use testkit::eventually;
use testkit::machine::{DRIVERS, fail};

use self::End::{CutWhileRunning, CutWhileStarting, Reboot};
use super::boot_machine::{BootMachine, boot_machine};
use super::network::Network::{self, Refused, Silent, Up};

/// For a boot, and for what the unit then does: minutes when other work needs the processors.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// One boot and its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Boot {
    network: Network,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Reboot,
    /// A power cut when this share of the time has passed that a boot takes until the scheduler is
    /// attached: while the kernel, systemd, a runtime or the scheduler starts.
    CutWhileStarting(f64),
    /// A power cut so many seconds after the scheduler was attached.
    CutWhileRunning(u64),
}

/// The boots with each driver: half of them with a registry that answers, half ended by a power cut.
const BOOTS: [(Network, End); 15] = [
    (Up, Reboot),
    (Refused, CutWhileStarting(0.2)),
    (Up, Reboot),
    (Silent, CutWhileRunning(0)),
    (Up, CutWhileStarting(0.5)),
    (Refused, Reboot),
    (Up, CutWhileRunning(3)),
    (Silent, CutWhileStarting(0.7)),
    (Up, Reboot),
    (Refused, Reboot),
    (Up, CutWhileRunning(8)),
    (Silent, CutWhileStarting(0.9)),
    (Refused, Reboot),
    (Silent, CutWhileRunning(1)),
    (Up, Reboot),
];

/// `SCHEDKIT_BOOTS` is for a shorter try: so many with each driver.
fn boots() -> Vec<Boot> {
    let wanted = std::env::var("SCHEDKIT_BOOTS").ok();
    let count = wanted.map_or(BOOTS.len(), |count| count.parse().unwrap());
    let boot = |(network, end)| Boot { network, end };
    BOOTS.into_iter().take(count).map(boot).collect()
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The kernel's uptime when it had attached the scheduler, and how often systemd had to start
    /// the unit again.
    Attached(Duration, String),
    /// Not attached, or `status` does not say so; what schedctl and systemd say.
    Wrong(String),
    /// The power was cut before; how far it got.
    Cut(String),
}

struct Row {
    number: usize,
    driver: &'static str,
    boot: Boot,
    took: Duration,
    outcome: Outcome,
}

const HEADER: &str = "boot  driver      registry  ended by                 uptime  result";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            driver,
            boot,
            took,
            outcome,
        } = self;
        let (uptime, result) = match outcome {
            Outcome::Attached(uptime, restarts) if restarts == "0" => {
                (*uptime, "attached, running".to_owned())
            }
            Outcome::Attached(uptime, restarts) => (
                *uptime,
                format!("attached, running, after {restarts} restarts"),
            ),
            Outcome::Wrong(text) | Outcome::Cut(text) => (*took, text.clone()),
        };
        let end = match boot.end {
            Reboot => "reboot".to_owned(),
            CutWhileStarting(share) => format!("power cut at {share} of it"),
            CutWhileRunning(seconds) => format!("power cut {seconds} s later"),
        };
        let (network, uptime) = (boot.network.name(), uptime.as_secs_f64());
        write!(
            f,
            "{number:4}  {driver:10}  {network:8}  {end:23}  {uptime:4.0} s  {result}"
        )
    }
}

#[test]
fn the_enabled_scheduler_is_attached_after_every_boot() {
    let machine = boot_machine();
    let mut rows: Vec<Row> = Vec::new();
    // A guess until a boot has been measured.
    let mut typical = Duration::from_secs(40);
    let boots = boots();
    for driver in DRIVERS {
        enable_for(&machine, driver);
        let mut last = machine.boot_id();
        machine.set_network(boots[0].network);
        machine.reboot();
        for (index, boot) in boots.iter().enumerate() {
            let began = Instant::now();
            let outcome = match boot.end {
                CutWhileStarting(share) => {
                    std::thread::sleep(typical.mul_f64(share));
                    Outcome::Cut(how_far(&machine))
                }
                Reboot | CutWhileRunning(_) => {
                    let id = await_boot(&machine, last.as_deref());
                    last = Some(id);
                    await_outcome(&machine)
                }
            };
            let took = began.elapsed();
            if let Outcome::Attached(..) = outcome {
                typical = took;
            }
            let row = Row {
                number: rows.len() + 1,
                driver,
                boot: *boot,
                took,
                outcome,
            };
            println!("{row}");
            rows.push(row);
            // The last one of a driver goes on to the next driver.
            if let Some(next) = boots.get(index + 1) {
                end(&machine, boot.end, next.network);
            }
        }
    }
    let table: Vec<_> = rows.iter().map(Row::to_string).collect();
    let table = format!("{HEADER}\n{}", table.join("\n"));
    println!("\n{table}");
    let wrong = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Wrong(_)));
    let wrong: Vec<_> = wrong.map(Row::to_string).collect();
    assert!(
        wrong.is_empty(),
        "{}\n\nof these:\n{table}",
        wrong.join("\n")
    );
}

/// The machine runs, with a registry, when a driver's turn begins.
fn enable_for(machine: &BootMachine, driver: &str) {
    machine.set_network(Up);
    machine.must(&["stop", "scx_lab"]);
    machine.use_driver(driver);
    machine.enable();
    machine.shell("sync");
}

pub(crate) fn await_boot(machine: &BootMachine, last: Option<&str>) -> String {
    eventually("the machine boots", TIMEOUT, || {
        machine.boot_id().filter(|id| Some(id.as_str()) != last)
    })
}

/// Waits for the scheduler, as long as systemd tries to start it.
pub(crate) fn await_outcome(machine: &BootMachine) -> Outcome {
    let began = Instant::now();
    while began.elapsed() < TIMEOUT {
        if machine.ops().is_some_and(|ops| ops.starts_with("lab")) {
            return attached(machine);
        }
        if let Some(unit) = machine.unit().filter(|unit| unit.active == "failed") {
            let (unit, reason) = (unit.summary(), machine.reason());
            return Outcome::Wrong(format!("{unit}: {reason}"));
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Outcome::Wrong(machine.explain())
}

/// The kernel has the scheduler: `status` must say so, too.
fn attached(machine: &BootMachine) -> Outcome {
    let log = machine.node().kernel_log().unwrap_or_else(fail);
    let mut lines = log.iter().filter(|line| {
        line.text.starts_with("sched_ext: BPF scheduler \"lab") && line.text.ends_with("enabled")
    });
    let uptime = lines.next_back().map(|line| line.at).unwrap_or_default();
    let restarts = machine.unit().map(|unit| unit.restarts);
    let status = machine.json(&["status"]);
    match status.1["status"].as_str() {
        Some("running") => Outcome::Attached(uptime, restarts.unwrap_or_default()),
        _ => Outcome::Wrong(format!("attached, and status says {status:?}")),
    }
}

/// What has started when the power is cut.
fn how_far(machine: &BootMachine) -> String {
    if !machine.node().is_reachable() {
        return "before ssh".to_owned();
    }
    match machine.unit() {
        Some(unit) => format!("unit {} ({})", unit.active, unit.sub),
        None => "ssh".to_owned(),
    }
}

/// Ends the boot and begins the next one.
fn end(machine: &BootMachine, end: End, next: Network) {
    if let CutWhileRunning(seconds) = end {
        std::thread::sleep(Duration::from_secs(seconds));
    }
    if end == Reboot {
        machine.set_network(next);
        machine.reboot();
    } else {
        machine.cut_power();
        machine.set_network(next);
        machine.power_on();
    }
}
