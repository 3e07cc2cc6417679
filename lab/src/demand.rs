//! What whoever brought a lab up may ask of its keeper while the lab lives: one line of JSON on
//! the lifeline each, and one line back on the keeper's standard output.
//!
//! `running.rs` asks, `keeper.rs` reads and answers, `obey` does it. Nothing here happens by
//! itself: a service that ends unasked stays ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sentence;
use crate::service::{Service, ServiceError};

/// An API server waits up to a minute for the watches that it serves, and comes up slowly where
/// emulated nodes share the processors.
const PATIENCE: Duration = Duration::from_secs(180);

/// One demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "demand", rename_all = "kebab-case")]
pub enum Demand {
    /// The lab is to outlive whoever brought it up. Nothing can be asked afterwards.
    Detach,
    /// A service is to end, and is gone when this is answered.
    Stop {
        /// Its name.
        service: String,
        /// How.
        ending: Ending,
    },
    /// A service that has ended is to run again, and is ready when this is answered.
    Start {
        /// Its name.
        service: String,
    },
}

/// How a service is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It is asked to, and takes its time (SIGTERM).
    Asked,
    /// It is not asked (SIGKILL).
    Killed,
}

/// What became of a demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// It is so.
    Done,
    /// It is not, and why.
    Refused {
        /// As a person reads it.
        sentence: String,
    },
}

/// Why a demand is not met.
#[derive(Debug, thiserror::Error)]
enum DemandError {
    #[error("the lab has no service {name:?}: it has {services}")]
    NoSuchService { name: String, services: String },
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Does what is asked, and tells when it is done.
pub(crate) fn obey(demand: &Demand, services: &mut [Service]) -> Answer {
    let done = match demand {
        // Whoever reads the lifeline has met this one already.
        Demand::Detach => Ok(()),
        Demand::Stop { service, ending } => {
            named(service, services).and_then(|service| Ok(service.stop(*ending, PATIENCE)?))
        }
        Demand::Start { service } => {
            named(service, services).and_then(|service| Ok(service.resume(PATIENCE)?))
        }
    };
    match done {
        Ok(()) => Answer::Done,
        Err(error) => Answer::Refused {
            sentence: sentence(&error),
        },
    }
}

fn named<'a>(name: &str, services: &'a mut [Service]) -> Result<&'a mut Service, DemandError> {
    let all: Vec<&str> = services.iter().map(Service::name).collect();
    let all = all.join(", ");
    let found = services.iter_mut().find(|service| service.name() == name);
    found.ok_or_else(|| DemandError::NoSuchService {
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

    fn stop(ending: Ending) -> Demand {
        let service = "thing".to_owned();
        Demand::Stop { service, ending }
    }

    fn refusal(answer: Answer) -> String {
        match answer {
            Answer::Refused { sentence } => sentence,
            Answer::Done => panic!("it was done"),
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
        let start = Demand::Start {
            service: "thing".to_owned(),
        };
        heard(1);
        assert_eq!(obey(&stop(Ending::Asked), &mut services), Answer::Done);
        assert_eq!(count("ended well"), 1, "it was waited for");
        assert_eq!(
            services[0].ended(),
            None,
            "nobody is told of an end on purpose"
        );
        assert_eq!(obey(&start, &mut services), Answer::Done);
        heard(2);
        assert_eq!(obey(&stop(Ending::Killed), &mut services), Answer::Done);
        assert_eq!(count("ended well"), 1, "it was not asked");
        assert_eq!(obey(&start, &mut services), Answer::Done);
        heard(3);
        assert_eq!(obey(&stop(Ending::Killed), &mut services), Answer::Done);
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let mut services = services(folder.path(), "exec sleep 60");
        let unknown = Demand::Start {
            service: "nothing".to_owned(),
        };
        let said = refusal(obey(&unknown, &mut services));
        assert_eq!(said, "the lab has no service \"nothing\": it has thing");
        let start = Demand::Start {
            service: "thing".to_owned(),
        };
        let said = refusal(obey(&start, &mut services));
        assert_eq!(said, "cannot start thing: it runs");
        obey(&stop(Ending::Killed), &mut services);
        let said = refusal(obey(&stop(Ending::Killed), &mut services));
        assert_eq!(said, "cannot stop thing: it does not run");
    }
}
