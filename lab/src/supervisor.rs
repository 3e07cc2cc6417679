//! The process that holds a lab together: the first of its own process namespace, so that the
//! kernel ends everything it started the moment it ends itself, however that happens.
//!
//! ```text
//!   lab up ──stdin (order, then the control pipe)──▶ unshare ─▶ supervisor ─┬─ builds, apt, …
//!      ◀──stdout (events)────────────────────────────────           ├─ etcd, API server, …, registry
//!                                                                   └─ QEMU and ssh, one each a node
//! ```
//!
//! The control pipe is the pipe that the order came through. Whoever asked for the lab holds its
//! other end; when that process is gone, by `kill -9` or otherwise, the pipe ends and so does the
//! supervisor. `detach` on the control pipe cuts this tie once the lab is ready; until then a service can
//! be stopped and started through it ([`crate::request`]).

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::cache::Cache;
use crate::command::{self, CommandError};
use crate::error_chain::error_chain;
use crate::network::{self, API, NetworkError, PortForward, REFERRERS, REGISTRY};
use crate::parts::{self, PartError};
use crate::progress::{Event, Reporter};
use crate::request::{self, Request};
use crate::service::Service;
use crate::spec::{Goal, LabSpec};
use crate::startup::{Ports, Startup, StartupError};
use crate::state::{State, StateError};

/// How often the services are looked at.
const PACE: Duration = Duration::from_millis(500);

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The order could not be read.
    #[error(
        "the supervisor read no valid lab specification: it is started by `lab up`, not by hand"
    )]
    Spec(#[source] io::Error),
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
    Startup(#[from] StartupError),
    /// A file.
    #[error("cannot learn which process this is")]
    Io(#[from] io::Error),
}

/// What a lab that has come up leaves to be watched.
struct Kept {
    services: Vec<Service>,
    requests: Receiver<Request>,
}

/// Reads the order from standard input, makes the lab, and keeps it until the control pipe ends.
pub fn keep() -> Result<(), SupervisorError> {
    let reporter = Reporter::new(io::stdout());
    match bring_up(&reporter) {
        Ok(Some(kept)) => watch(kept, &reporter),
        Ok(None) => Ok(()),
        Err(error) => {
            let message = error_chain(&error);
            reporter.send(&Event::Failed { message });
            Err(error)
        }
    }
}

/// The steps of `lab up`, in order. The lock is held for as long as the process lives.
fn bring_up(reporter: &Reporter) -> Result<Option<Kept>, SupervisorError> {
    let mut input = BufReader::new(io::stdin());
    let spec = read_spec(&mut input)?;
    let requests = follow_control_pipe(input);
    let supervisor_pid = enter_process_namespace()?;
    let cache = Cache::new(spec.cache.clone());
    if spec.goal == Goal::Prepared {
        parts::gather(&cache, &spec, reporter)?;
        return Ok(None);
    }
    let state = State::new(spec.state.clone());
    // Held until the process ends: dropping it would say that nothing runs here any more.
    std::mem::forget(state.take(supervisor_pid)?);
    let forwards = PortForwards::open(&spec)?;
    let parts = parts::gather(&cache, &spec, reporter)?;
    let ports = forwards.ports();
    network::enter(spec.node_count())?;
    forwards.start();
    let startup = Startup {
        spec: &spec,
        state: &state,
        cache: &cache,
        parts: &parts,
        reporter,
    };
    let services = startup.start(ports.api)?;
    let lab = startup.describe(&ports);
    state.publish(&lab)?;
    reporter.send(&Event::Ready { lab: Box::new(lab) });
    Ok(Some(Kept { services, requests }))
}

/// The ways in from this machine's loopback, opened before anything slow begins.
struct PortForwards {
    api: PortForward,
    registry: PortForward,
    referrers: Option<PortForward>,
}

impl PortForwards {
    fn open(spec: &LabSpec) -> Result<Self, NetworkError> {
        Ok(Self {
            api: PortForward::open(spec.api_port)?,
            registry: PortForward::open(spec.registry_port)?,
            referrers: spec
                .topology
                .has_referrers()
                .then(|| PortForward::open(None))
                .transpose()?,
        })
    }

    fn ports(&self) -> Ports {
        Ports {
            api: self.api.port(),
            registry: self.registry.port(),
            referrers: self.referrers.as_ref().map(PortForward::port),
        }
    }

    fn start(self) {
        self.api.forward_to(API);
        self.registry.forward_to(REGISTRY);
        if let Some(forward) = self.referrers {
            forward.forward_to(REFERRERS);
        }
    }
}

fn read_spec(input: &mut impl BufRead) -> Result<LabSpec, SupervisorError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(SupervisorError::Spec)?;
    serde_json::from_str(&line).map_err(|error| SupervisorError::Spec(error.into()))
}

/// Ends this process, and with it the whole lab, when the control pipe ends; hands on what is asked
/// through it meanwhile.
fn follow_control_pipe(input: impl BufRead + Send + 'static) -> Receiver<Request> {
    let (hand_on, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Request::Detach) => return,
                Ok(request) => {
                    let _ = hand_on.send(request);
                }
                Err(error) => {
                    let _ = writeln!(io::stderr(), "cannot read the request {line:?}: {error}");
                }
            }
        }
        end();
    });
    requests
}

#[expect(
    clippy::exit,
    reason = "no thread may outlive the control pipe, least of all one that waits for a build"
)]
fn end() -> ! {
    std::process::exit(0)
}

/// Gives this process's number as the whole machine sees it, then makes `/proc` show just the
/// lab's own processes, as its programs expect.
fn enter_process_namespace() -> Result<i32, SupervisorError> {
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
fn watch(kept: Kept, reporter: &Reporter) -> Result<(), SupervisorError> {
    let Kept {
        mut services,
        requests,
    } = kept;
    loop {
        for service in &mut services {
            if let Some(status) = service.ended() {
                let _ = writeln!(io::stderr(), "{} ended with {status}", service.name());
            }
        }
        match requests.recv_timeout(PACE) {
            Ok(request) => reporter.send(&request::handle(&request, &mut services)),
            Err(RecvTimeoutError::Timeout) => {}
            // Detached: nobody can ask any more.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(PACE),
        }
    }
}
