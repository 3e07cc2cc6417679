//! The process that holds a lab together: the first of its own process namespace, so that the
//! kernel ends everything it started the moment it ends itself, however that happens.
//!
//! ```text
//!   lab up ──stdin (order, then the lifeline)──▶ unshare ─▶ keeper ─┬─ builds, apt, …
//!      ◀──stdout (events)────────────────────────────────           ├─ etcd, API server, …, registry
//!                                                                   └─ QEMU and ssh, one each a node
//! ```
//!
//! The lifeline is the pipe that the order came through. Whoever asked for the lab holds its
//! other end; when that process is gone, by `kill -9` or otherwise, the pipe ends and so does the
//! keeper. `detach` on the lifeline cuts this tie once the lab is ready; until then a service can
//! be stopped and started through it ([`crate::demand`]).

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::cache::Cache;
use crate::command::{self, CommandError};
use crate::demand::{self, Demand};
use crate::ground::{Goal, Order};
use crate::network::{self, API, Door, NetworkError, REFERRERS, REGISTRY};
use crate::parts::{self, PartError};
use crate::progress::{Event, Reporter};
use crate::service::Service;
use crate::site::{Ports, Site, SiteError};
use crate::state::{State, StateError};

/// How often the services are looked at.
const PACE: Duration = Duration::from_millis(500);

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The order could not be read.
    #[error("the keeper got no order it understands: it is started by `lab up`, not by hand")]
    Order(#[source] io::Error),
    /// The private namespace is incomplete.
    #[error("cannot set up a private process namespace")]
    Namespace(#[from] CommandError),
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// A part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// One of the lab's processes.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A file.
    #[error("cannot learn which process this is")]
    Io(#[from] io::Error),
}

/// What a lab that has come up leaves to be watched.
struct Kept {
    services: Vec<Service>,
    demands: Receiver<Demand>,
}

/// Reads the order from standard input, makes the lab, and keeps it until the lifeline ends.
pub fn keep() -> Result<(), KeeperError> {
    let reporter = Reporter::new(io::stdout());
    match bring_up(&reporter) {
        Ok(Some(kept)) => watch(kept, &reporter),
        Ok(None) => Ok(()),
        Err(error) => {
            let sentence = crate::sentence(&error);
            reporter.send(&Event::Failed { sentence });
            Err(error)
        }
    }
}

/// The steps of `lab up`, in order. The lock is held for as long as the process lives.
fn bring_up(reporter: &Reporter) -> Result<Option<Kept>, KeeperError> {
    let mut input = BufReader::new(io::stdin());
    let order = read_order(&mut input)?;
    let demands = follow_lifeline(input);
    let keeper_pid = enter_process_namespace()?;
    let cache = Cache::new(order.cache.clone());
    if order.goal == Goal::Prepared {
        parts::gather(&cache, &order, reporter)?;
        return Ok(None);
    }
    let state = State::new(order.state.clone());
    // Held until the process ends: dropping it would say that nothing runs here any more.
    std::mem::forget(state.take(keeper_pid)?);
    let doors = Doors::open(&order)?;
    let parts = parts::gather(&cache, &order, reporter)?;
    let ports = doors.ports();
    network::enter(order.node_count())?;
    doors.lead_inside();
    let site = Site {
        order: &order,
        state: &state,
        cache: &cache,
        parts: &parts,
        reporter,
    };
    let services = site.start(ports.api)?;
    let lab = site.describe(&ports);
    state.publish(&lab)?;
    reporter.send(&Event::Ready { lab: Box::new(lab) });
    Ok(Some(Kept { services, demands }))
}

/// The ways in from this machine's loopback, opened before anything slow begins.
struct Doors {
    api: Door,
    registry: Door,
    referrers: Option<Door>,
}

impl Doors {
    fn open(order: &Order) -> Result<Self, NetworkError> {
        Ok(Self {
            api: Door::open(order.api_port)?,
            registry: Door::open(order.registry_port)?,
            referrers: order
                .ground
                .has_referrers()
                .then(|| Door::open(None))
                .transpose()?,
        })
    }

    fn ports(&self) -> Ports {
        Ports {
            api: self.api.port(),
            registry: self.registry.port(),
            referrers: self.referrers.as_ref().map(Door::port),
        }
    }

    fn lead_inside(self) {
        self.api.lead_to(API);
        self.registry.lead_to(REGISTRY);
        if let Some(door) = self.referrers {
            door.lead_to(REFERRERS);
        }
    }
}

fn read_order(input: &mut impl BufRead) -> Result<Order, KeeperError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(KeeperError::Order)?;
    serde_json::from_str(&line).map_err(|error| KeeperError::Order(error.into()))
}

/// Ends this process, and with it the whole lab, when the lifeline ends; hands on what is asked
/// through it meanwhile.
fn follow_lifeline(input: impl BufRead + Send + 'static) -> Receiver<Demand> {
    let (hand_on, demands) = mpsc::channel();
    std::thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Demand::Detach) => return,
                Ok(demand) => {
                    let _ = hand_on.send(demand);
                }
                Err(error) => {
                    let _ = writeln!(io::stderr(), "cannot read the demand {line:?}: {error}");
                }
            }
        }
        end();
    });
    demands
}

#[expect(
    clippy::exit,
    reason = "no thread may outlive the lifeline, least of all one that waits for a build"
)]
fn end() -> ! {
    std::process::exit(0)
}

/// Gives this process's number as the whole machine sees it, then makes `/proc` show just the
/// lab's own processes, as its programs expect.
fn enter_process_namespace() -> Result<i32, KeeperError> {
    let outside: PathBuf = fs::read_link("/proc/self")?;
    let pid = outside
        .to_string_lossy()
        .parse()
        .map_err(io::Error::other)?;
    command::read(Command::new("mount").args(["-t", "proc", "proc", "/proc"]))?;
    Ok(pid)
}

/// Notes when something that should run has ended. It is not started again: a lab that mends
/// itself would hide what a test is there to find. What a test asks for is done here, too: this
/// thread is the one that is in the lab's network.
fn watch(kept: Kept, reporter: &Reporter) -> Result<(), KeeperError> {
    let Kept {
        mut services,
        demands,
    } = kept;
    loop {
        for service in &mut services {
            if let Some(status) = service.ended() {
                let _ = writeln!(io::stderr(), "{} ended with {status}", service.name());
            }
        }
        match demands.recv_timeout(PACE) {
            Ok(demand) => reporter.send(&demand::obey(&demand, &mut services)),
            Err(RecvTimeoutError::Timeout) => {}
            // Detached: nobody can ask any more.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(PACE),
        }
    }
}
