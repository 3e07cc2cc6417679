//! Parses Podman's list of containers. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schedkit_core::sanitize::brief;
use serde::Deserialize;

use crate::container::{Container, ContainerId, ContainerState, ExitCode};
use crate::ownership::{Described, Ownership};
use crate::record::Record;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    #[serde(default)]
    names: Option<Vec<String>>,
    #[serde(default)]
    image: String,
    #[serde(default, rename = "ImageID")]
    image_id: String,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    pid: i64,
    #[serde(default)]
    started_at: i64,
    #[serde(default)]
    exit_code: i32,
    #[serde(default)]
    created: Option<Timestamp>,
}

/// Parses the response to `containers/json`; the oldest first. Containers that are not schedctl's are
/// left out.
pub(super) fn parse(text: &str) -> Result<Vec<Container>, serde_json::Error> {
    let mut listed = serde_json::from_str::<Vec<Listed>>(text)?;
    listed.sort_by_key(|listed| listed.created);
    Ok(listed.into_iter().filter_map(container).collect())
}

fn container(listed: Listed) -> Option<Container> {
    let Listed {
        id,
        names,
        image,
        image_id,
        labels,
        state: status,
        pid,
        started_at,
        exit_code,
        created: _,
    } = listed;
    let started = Timestamp::from_second(started_at).ok();
    let name = names.unwrap_or_default().into_iter().next();
    let name = name.unwrap_or_default();
    let labels = labels.unwrap_or_default();
    let image_id = Some(image_id).filter(|id| !id.is_empty());
    let described = Described {
        name: &name,
        image: &image,
        image_hash: image_id.as_deref(),
        labels: &labels,
    };
    let ownership = described.ownership()?;
    Some(Container {
        id: ContainerId::new(id),
        name,
        ownership,
        record: match ownership {
            Ownership::Ours => Record::from_labels(&labels),
            Ownership::Unproven => Record::default(),
        },
        image,
        image_id,
        state: state(&status, pid, started, exit_code),
    })
}

/// The state of a container, from libpod's name of it.
pub(super) fn state(
    status: &str,
    pid: i64,
    started: Option<Timestamp>,
    exit_code: i32,
) -> ContainerState {
    // Go's zero time is before 1970.
    let started = started.filter(|time| *time > Timestamp::UNIX_EPOCH);
    match (status, u32::try_from(pid)) {
        ("running" | "stopping", Ok(pid)) if pid > 0 => ContainerState::Running { pid, started },
        ("created" | "configured" | "initialized", _) => ContainerState::Created,
        ("exited" | "stopped", _) => ContainerState::Exited(ExitCode(exit_code)),
        (other, _) => ContainerState::Other(brief(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: [&str; 2] = [
        include_str!("../../tests/fixtures/podman-4.3/list.json"),
        include_str!("../../tests/fixtures/podman-5.4/list.json"),
    ];

    #[test]
    fn recorded_lists_are_parsed() {
        for text in RECORDED {
            let containers = parse(text).unwrap();
            let names = containers.iter().map(|one| one.name.as_str());
            let names = names.collect::<Vec<_>>();
            let expected = [
                "schedkit-a",
                "schedkit-w",
                "schedkit-deaf",
                "schedkit-fresh",
            ];
            assert_eq!(names, expected);
            assert_eq!(containers[0].state, ContainerState::Exited(ExitCode(7)));
            assert_eq!(containers[3].state, ContainerState::Created);
            let ContainerState::Running { pid, started } = containers[1].state else {
                panic!("{:?}", containers[1]);
            };
            assert!(pid > 1 && started.unwrap() > "2026-01-01T00:00:00Z".parse().unwrap());
            let id = "aa106bbeadedf56f376f7fe7e40335ef805bf4db7394638207f6cd2bd127f2e4";
            for one in &containers {
                assert_eq!(one.image_id.as_deref(), Some(id));
                assert!(
                    one.image
                        .starts_with("registry.lab:5000/scx/prog@sha256:995e")
                );
                assert_eq!(one.id.as_str().len(), 64);
            }
        }
    }

    #[test]
    fn every_status_has_a_state() {
        for (status, pid, expected) in [
            (
                "running",
                7,
                ContainerState::Running {
                    pid: 7,
                    started: None,
                },
            ),
            (
                "stopping",
                7,
                ContainerState::Running {
                    pid: 7,
                    started: None,
                },
            ),
            ("running", 0, ContainerState::Other("running".to_owned())),
            ("running", -1, ContainerState::Other("running".to_owned())),
            ("initialized", 7, ContainerState::Created),
            ("configured", 0, ContainerState::Created),
            ("stopped", 0, ContainerState::Exited(ExitCode(3))),
            ("paused", 7, ContainerState::Other("paused".to_owned())),
            ("x\u{1b}", 7, ContainerState::Other("x�".to_owned())),
        ] {
            let zero = Timestamp::from_second(-62_135_596_800).unwrap();
            assert_eq!(state(status, pid, Some(zero), 3), expected, "{status}");
        }
    }

    #[test]
    fn containers_of_others_are_left_out_and_labels_that_prove_nothing_are_ignored() {
        let one = |name: &str, labels: &str| {
            let text = format!(
                r#"[{{"Id":"1","Names":["{name}"],"Image":"a.b/scx_lab:1","Labels":{labels}}}]"#
            );
            parse(&text).unwrap()
        };
        assert_eq!(one("scx_lab", "null"), []);
        let forged =
            r#"{"provider":"schedkit","io.schedkit.signer":"me","io.schedkit.policy":"p"}"#;
        assert_eq!(one("clever_name", forged), []);
        let older = one("scx_lab", forged);
        assert_eq!(older[0].ownership, Ownership::Unproven);
        assert_eq!(older[0].record, Record::default());
        assert_eq!(
            parse(r#"[{"Id":"1","Labels":null,"Names":null}]"#).unwrap(),
            []
        );
        assert!(parse("{}").is_err());
        assert!(parse(r#"[{"Names":["x"]}]"#).is_err());
    }
}
