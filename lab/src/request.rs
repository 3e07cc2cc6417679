//! What a test can ask of the supervisor of its lab: one JSON line through the control pipe, and
//! one JSON line back on the supervisor's standard output.
//!
//! `running.rs` sends requests, `supervisor.rs` receives them, `handle` does the work.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error_chain::error_chain;
use crate::service::{Service, ServiceError, StopSignal};

/// An API server waits up to a minute for the watches that it serves, and starts slowly while
/// emulated nodes use the same processors.
const TIMEOUT: Duration = Duration::from_secs(180);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// Let the lab outlive the process that started it. No request can follow.
    Detach,
    /// Stop a service; the response comes when its process is gone.
    Stop { service: String, signal: StopSignal },
    /// Start a service that has stopped; the response comes when it is ready.
    Start { service: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    Done,
    Refused { message: String },
}

#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("the lab has no service {name:?}: it has {services}")]
    NoSuchService { name: String, services: String },
    #[error(transparent)]
    Service(#[from] ServiceError),
}

pub(crate) fn handle(request: &Request, services: &mut [Service]) -> Response {
    let done = match request {
        // The reader of the control pipe has handled it.
        Request::Detach => Ok(()),
        Request::Stop { service, signal } => {
            find(service, services).and_then(|service| Ok(service.stop(*signal, TIMEOUT)?))
        }
        Request::Start { service } => {
            find(service, services).and_then(|service| Ok(service.restart(TIMEOUT)?))
        }
    };
    match done {
        Ok(()) => Response::Done,
        Err(error) => Response::Refused {
            message: error_chain(&error),
        },
    }
}

fn find<'a>(name: &str, services: &'a mut [Service]) -> Result<&'a mut Service, RequestError> {
    let all: Vec<&str> = services.iter().map(Service::name).collect();
    let all = all.join(", ");
    let found = services.iter_mut().find(|service| service.name() == name);
    found.ok_or_else(|| RequestError::NoSuchService {
        name: name.to_owned(),
        services: all,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn services(folder: &std::path::Path, script: &str) -> Vec<Service> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        vec![Service::start("thing", command, folder.join("log")).unwrap()]
    }

    fn stop(signal: StopSignal) -> Request {
        let service = "thing".to_owned();
        Request::Stop { service, signal }
    }

    fn refusal(response: Response) -> String {
        match response {
            Response::Refused { message } => message,
            Response::Done => panic!("the request was done"),
        }
    }

    #[test]
    fn a_stopped_service_is_gone_and_a_started_one_runs() {
        let folder = tempfile::tempdir().unwrap();
        // It takes its time after SIGTERM, as API servers do.
        let script = "trap 'sleep 0.3; echo ended well; exit 0' TERM; echo here; \
                      while :; do sleep 0.05; done";
        let mut services = services(folder.path(), script);
        let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
        let count = |text: &str| log().lines().filter(|line| *line == text).count();
        let wait_for_starts = |times| {
            while count("here") < times {
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        let start = Request::Start {
            service: "thing".to_owned(),
        };
        wait_for_starts(1);
        assert_eq!(
            handle(&stop(StopSignal::Term), &mut services),
            Response::Done
        );
        assert_eq!(count("ended well"), 1, "the process has handled SIGTERM");
        assert_eq!(
            services[0].exited(),
            None,
            "a stop on request is not reported"
        );
        assert_eq!(handle(&start, &mut services), Response::Done);
        wait_for_starts(2);
        let kill = stop(StopSignal::Kill);
        assert_eq!(handle(&kill, &mut services), Response::Done);
        assert_eq!(count("ended well"), 1, "SIGKILL cannot be handled");
        assert_eq!(handle(&start, &mut services), Response::Done);
        wait_for_starts(3);
        assert_eq!(handle(&kill, &mut services), Response::Done);
    }

    #[test]
    fn an_impossible_request_is_refused_with_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let mut services = services(folder.path(), "exec sleep 60");
        let unknown = Request::Start {
            service: "nothing".to_owned(),
        };
        let message = refusal(handle(&unknown, &mut services));
        assert_eq!(message, "the lab has no service \"nothing\": it has thing");
        let start = Request::Start {
            service: "thing".to_owned(),
        };
        let message = refusal(handle(&start, &mut services));
        assert_eq!(message, "cannot start thing: it runs");
        let kill = stop(StopSignal::Kill);
        handle(&kill, &mut services);
        let message = refusal(handle(&kill, &mut services));
        assert_eq!(message, "cannot stop thing: it does not run");
    }
}
