//! Parses Podman's description of one container. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;

use super::listing;
use crate::container::ContainerState;
use crate::ownership::{Described, Ownership};
use crate::stop_signal::StopSignal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inspected {
    pub(super) state: ContainerState,
    /// By the clock of that moment.
    pub(super) finished: Option<Timestamp>,
    /// Written by the OCI runtime after it created the process and before the process runs. Unlike the
    /// start time, it exists before the first output of the process.
    pub(super) pid_file: Option<PathBuf>,
    /// `None` if it is not a container of schedctl.
    pub(super) ownership: Option<Ownership>,
    pub(super) stop_signal: StopSignal,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    state: DocumentState,
    #[serde(default)]
    pid_file: PathBuf,
    #[serde(default)]
    name: String,
    #[serde(default)]
    image: String,
    #[serde(default)]
    image_name: String,
    #[serde(default)]
    config: DocumentConfig,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DocumentConfig {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    /// That of the image. A number, and a name since Podman 5.
    #[serde(default)]
    stop_signal: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DocumentState {
    status: String,
    #[serde(default)]
    pid: i64,
    #[serde(default)]
    exit_code: i32,
    #[serde(default)]
    started_at: String,
    #[serde(default)]
    finished_at: String,
}

/// Parses the response to `containers/ID/json`.
pub(super) fn parse(text: &str) -> Result<Inspected, serde_json::Error> {
    let Document {
        state,
        pid_file,
        name,
        image,
        image_name,
        config,
    } = serde_json::from_str(text)?;
    let described = Described {
        name: &name,
        image: &image_name,
        image_hash: Some(image.as_str()).filter(|id| !id.is_empty()),
        labels: &config.labels.unwrap_or_default(),
    };
    let ownership = described.ownership();
    let DocumentState {
        status,
        pid,
        exit_code,
        started_at,
        finished_at,
    } = state;
    let state = listing::state(&status, pid, started_at.parse().ok(), exit_code);
    let pid_file = Some(pid_file).filter(|path| path.is_absolute());
    let stop_signal = match config.stop_signal {
        serde_json::Value::String(name) => StopSignal::parse(&name),
        other => StopSignal::parse(&other.to_string()),
    };
    Ok(Inspected {
        state,
        finished: finished_at.parse().ok(),
        pid_file,
        ownership,
        stop_signal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::ExitCode;

    const RECORDED: [(&str, &str); 2] = [
        (
            include_str!("../../tests/fixtures/podman-4.3/exited.json"),
            include_str!("../../tests/fixtures/podman-4.3/running.json"),
        ),
        (
            include_str!("../../tests/fixtures/podman-5.4/exited.json"),
            include_str!("../../tests/fixtures/podman-5.4/running.json"),
        ),
    ];

    #[test]
    fn recorded_descriptions_are_parsed() {
        for (exited, running) in RECORDED {
            let exited = parse(exited).unwrap();
            assert_eq!(exited.state, ContainerState::Exited(ExitCode(7)));
            assert!(exited.pid_file.unwrap().ends_with("userdata/pidfile"));
            let running = parse(running).unwrap();
            assert_eq!(running.ownership, Some(Ownership::Unproven));
            let ContainerState::Running { pid, started } = running.state else {
                panic!("{running:?}");
            };
            assert!(pid > 1 && started.unwrap() > "2026-01-01T00:00:00Z".parse().unwrap());
        }
    }

    #[test]
    fn the_signal_is_a_number_or_a_name() {
        for (signal, number) in [("2", 2), ("\"SIGINT\"", 2), ("null", 15), ("[]", 15)] {
            let text =
                format!(r#"{{"State":{{"Status":"created"}},"Config":{{"StopSignal":{signal}}}}}"#);
            assert_eq!(
                parse(&text).unwrap().stop_signal.number(),
                number,
                "{signal}"
            );
        }
    }

    #[test]
    fn a_description_without_a_state_is_refused() {
        assert!(parse("{}").is_err());
        let bare = parse(r#"{"State":{"Status":"created"}}"#).unwrap();
        assert_eq!((bare.state, bare.pid_file), (ContainerState::Created, None));
        assert_eq!(bare.ownership, None);
    }
}
