//! What whoever brought a lab up may ask of its supervisor while the lab lives: one line of JSON on
//! the control pipe each, and one line back on the supervisor's standard output.
//!
//! `running.rs` asks, `supervisor.rs` reads and answers, `handle` does it. Nothing here happens by
//! itself: a service that ends unasked stays ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error_chain::error_chain;
use crate::service::{Service, ServiceError, StopSignal};

/// An API server waits up to a minute for the watches that it serves, and comes up slowly where
/// emulated nodes share the processors.
const TIMEOUT: Duration = Duration::from_secs(180);

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// The lab is to outlive whoever brought it up. Nothing can be asked afterwards.
    Detach,
    /// A service is to end, and is gone when this is answered.
    Stop {
        /// Its name.
        service: String,
        /// How.
        signal: StopSignal,
    },
    /// A service that has ended is to run again, and is ready when this is answered.
    Start {
        /// Its name.
        service: String,
    },
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// It is so.
    Done,
    /// It is not, and why.
    Refused {
        /// As a person reads it.
        message: String,
    },
}

/// Why a request is not met.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("the lab has no service {name:?}: it has {services}")]
    NoSuchService { name: String, services: String },
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Does what is asked, and tells when it is done.
pub(crate) fn handle(request: &Request, services: &mut [Service]) -> Response {
    let done = match request {
        // Whoever reads the control pipe has met this one already.
        Request::Detach => Ok(()),
        Request::Stop { service, signal } => {
            named(service, services).and_then(|service| Ok(service.stop(*signal, TIMEOUT)?))
        }
        Request::Start { service } => {
            named(service, services).and_then(|service| Ok(service.resume(TIMEOUT)?))
        }
    };
    match done {
        Ok(()) => Response::Done,
        Err(error) => Response::Refused {
            message: error_chain(&error),
        },
    }
}

fn named<'a>(name: &str, services: &'a mut [Service]) -> Result<&'a mut Service, RequestError> {
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

    fn refusal(answer: Response) -> String {
        match answer {
            Response::Refused { message } => message,
            Response::Done => panic!("it was done"),
        }
    }

    #[test]
    fn a_service_is_gone_when_it_was_stopped_and_runs_when_it_was_started() {
        let folder = tempfile::tempdir().unwrap();
        // One that takes its time when it is asked, as API servers do.
        let script = "trap 'sleep 0.3; echo ended well; exit 0' TERM; echo here; \
                      while :; do sleep 0.05; done";
        let mut services = services(folder.path(), script);
        let said = || std::fs::read_to_string(folder.path().join("log")).unwrap();
        let count = |word: &str| said().lines().filter(|line| *line == word).count();
        let heard = |times| {
            while count("here") < times {
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        let start = Request::Start {
            service: "thing".to_owned(),
        };
        heard(1);
        assert_eq!(
            handle(&stop(StopSignal::Term), &mut services),
            Response::Done
        );
        assert_eq!(count("ended well"), 1, "it was waited for");
        assert_eq!(
            services[0].ended(),
            None,
            "nobody is told of an end on purpose"
        );
        assert_eq!(handle(&start, &mut services), Response::Done);
        heard(2);
        assert_eq!(
            handle(&stop(StopSignal::Kill), &mut services),
            Response::Done
        );
        assert_eq!(count("ended well"), 1, "it was not asked");
        assert_eq!(handle(&start, &mut services), Response::Done);
        heard(3);
        assert_eq!(
            handle(&stop(StopSignal::Kill), &mut services),
            Response::Done
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let mut services = services(folder.path(), "exec sleep 60");
        let unknown = Request::Start {
            service: "nothing".to_owned(),
        };
        let said = refusal(handle(&unknown, &mut services));
        assert_eq!(said, "the lab has no service \"nothing\": it has thing");
        let start = Request::Start {
            service: "thing".to_owned(),
        };
        let said = refusal(handle(&start, &mut services));
        assert_eq!(said, "cannot start thing: it runs");
        handle(&stop(StopSignal::Kill), &mut services);
        let said = refusal(handle(&stop(StopSignal::Kill), &mut services));
        assert_eq!(said, "cannot stop thing: it does not run");
    }
}
