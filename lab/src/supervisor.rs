//! The supervisor: the process that starts a lab and holds it. It is the first process of its own
//! PID namespace, so the kernel ends everything it started when it ends, for whatever reason.
//!
//! ```text
//!   lab up ──stdin (LabSpec, then requests)──▶ unshare ─▶ supervisor ─┬─ builds, apt, …
//!      ◀──stdout (events, responses)──────────────────────            ├─ etcd, API server, …, registry
//!                                                                     └─ QEMU and ssh, one each per node
//! ```
//!
//! Standard input is the control pipe. The process that started the lab holds its other end: when
//! that process ends, even by `kill -9`, the pipe closes and the supervisor exits. A `detach`
//! request ends this dependency. Other requests stop and start services ([`crate::request`]).

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

/// How often the supervisor checks whether services still run.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Why a lab could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error(
        "cannot read the lab's specification from standard input: `lab up` starts the supervisor, not a person"
    )]
    Spec(#[source] io::Error),
    #[error("cannot mount /proc in the lab's own PID namespace")]
    Namespace(#[from] CommandError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Startup(#[from] StartupError),
    #[error("cannot read the supervisor's own process number from /proc/self")]
    Pid(#[from] io::Error),
}

/// A lab that has started.
struct Started {
    services: Vec<Service>,
    requests: Receiver<Request>,
}

/// Reads the specification from standard input, starts the lab, and holds it until the control
/// pipe closes.
pub fn run() -> Result<(), SupervisorError> {
    let reporter = Reporter::new(io::stdout());
    match start(&reporter) {
        Ok(Some(lab)) => watch(lab, &reporter),
        Ok(None) => Ok(()),
        Err(error) => {
            let message = error_chain(&error);
            reporter.send(&Event::Failed { message });
            Err(error)
        }
    }
}

/// The steps of `lab up`, in order. Returns nothing if the parts are all that was asked for.
fn start(reporter: &Reporter) -> Result<Option<Started>, SupervisorError> {
    let mut input = BufReader::new(io::stdin());
    let spec = read_spec(&mut input)?;
    let requests = read_control_pipe(input);
    let supervisor_pid = enter_pid_namespace()?;
    let cache = Cache::new(spec.cache.clone());
    if spec.goal == Goal::Prepared {
        parts::prepare(&cache, &spec, reporter)?;
        return Ok(None);
    }
    let state = State::new(spec.state.clone());
    // Locked until the process ends: an unlocked folder means that no lab runs.
    std::mem::forget(state.lock(supervisor_pid)?);
    let forwards = PortForwards::bind(&spec)?;
    let parts = parts::prepare(&cache, &spec, reporter)?;
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
    Ok(Some(Started { services, requests }))
}

/// Ports on this machine's loopback, bound before anything slow begins.
struct PortForwards {
    api: PortForward,
    registry: PortForward,
    referrers: Option<PortForward>,
}

impl PortForwards {
    fn bind(spec: &LabSpec) -> Result<Self, NetworkError> {
        Ok(Self {
            api: PortForward::bind(spec.api_port)?,
            registry: PortForward::bind(spec.registry_port)?,
            referrers: spec
                .topology
                .has_referrers()
                .then(|| PortForward::bind(None))
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

/// Passes on the requests that come through the control pipe; ends this process, and with it the
/// whole lab, when the pipe closes.
fn read_control_pipe(input: impl BufRead + Send + 'static) -> Receiver<Request> {
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Request::Detach) => return,
                Ok(request) => {
                    let _ = sender.send(request);
                }
                Err(error) => {
                    let _ = writeln!(io::stderr(), "cannot read the request {line:?}: {error}");
                }
            }
        }
        exit();
    });
    requests
}

#[expect(
    clippy::exit,
    reason = "no thread may outlive the control pipe, least of all one that waits for a build"
)]
fn exit() -> ! {
    std::process::exit(0)
}

/// Returns this process's number outside of its PID namespace, then mounts `/proc` for the
/// namespace, as the lab's programs expect.
fn enter_pid_namespace() -> Result<i32, SupervisorError> {
    let outside: PathBuf = fs::read_link("/proc/self")?;
    let pid = outside
        .to_string_lossy()
        .parse()
        .map_err(io::Error::other)?;
    command::read(Command::new("mount").args(["-t", "proc", "proc", "/proc"]))?;
    Ok(pid)
}

/// Logs when a service has exited, and handles requests. A service is not restarted: that would
/// hide what a test looks for. Requests are handled in this thread because it is the one that has
/// entered the lab's network namespace.
fn watch(lab: Started, reporter: &Reporter) -> Result<(), SupervisorError> {
    let Started {
        mut services,
        requests,
    } = lab;
    loop {
        for service in &mut services {
            if let Some(status) = service.exited() {
                let _ = writeln!(io::stderr(), "{} ended with {status}", service.name());
            }
        }
        match requests.recv_timeout(CHECK_INTERVAL) {
            Ok(request) => reporter.send(&request::handle(&request, &mut services)),
            Err(RecvTimeoutError::Timeout) => {}
            // Detached: no request can come any more.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(CHECK_INTERVAL),
        }
    }
}
