//! Creates a container of a pulled image, without starting it: its snapshot, its specification and
//! its record in containerd.

use std::collections::HashMap;
use std::path::Path;

use jiff::SignedDuration;
use prost::Message;
use schedkit_core::PinnedRef;

use super::api::containers::container::Runtime;
use super::api::containers::{Container, CreateContainerRequest};
use super::api::runc;
use super::api::snapshots::PrepareSnapshotRequest;
use super::chain::chain_ids;
use super::host::{self, Host};
use super::lease::Lease;
use super::parts::Parts;
use super::session::Session;
use super::spec::{self, Process};
use super::task::STOP_SIGNAL;
use super::{random, snapshotter, store, unpack};
use crate::container::ContainerId;
use crate::driver::DriverError;
use crate::launch::Launch;

const SPEC: &str = "types.containerd.io/opencontainers/runtime-spec/1/Spec";
const OPTIONS: &str = "containerd.runc.v1.Options";
const RUNTIME: &str = "io.containerd.runc.v2";
/// Keeps the snapshot until the container's record references it.
const LEASE: SignedDuration = SignedDuration::from_hours(1);
/// containerd's identifiers have at most 76 characters.
const MAX_NAME: usize = 50;

/// `root` is the host's `/`.
pub(super) async fn create(
    session: &Session,
    launch: &Launch,
    root: &Path,
) -> Result<ContainerId, DriverError> {
    let image = launch.image().image();
    let snapshotter = snapshotter::choose(session).await?;
    let parts = store::find(session, image, snapshotter).await?;
    let parts = parts.ok_or_else(|| session.refused(format!("{image} has not been pulled")))?;
    let id = name(launch.scheduler(), &random::hex_suffix());
    let spec = specification(&id, image, &parts, launch.args(), root)?;
    let (lease, leased) = Lease::take(session, LEASE).await?;
    let container = Container {
        id: id.clone(),
        labels: labels(launch, &id, &image.to_string(), &parts),
        image: image.to_string(),
        runtime: Some(runtime(root)),
        spec: Some(spec),
        snapshotter: snapshotter.to_owned(),
        snapshot_key: id.clone(),
        created_at: None,
    };
    match record(&leased, &parts, container).await {
        Ok(()) => {
            lease.release(session).await?;
            Ok(ContainerId::new(id))
        }
        Err(error) => {
            // If this fails, the snapshot is collected when the lease expires.
            let _ = unpack::remove(&leased, snapshotter, &id).await;
            lease.discard(session).await;
            Err(error)
        }
    }
}

/// Those of the launch, and the signal that ends it, as other clients of containerd record it.
fn labels(launch: &Launch, name: &str, hash: &str, parts: &Parts) -> HashMap<String, String> {
    let signal = parts.config.stop_signal().number().to_string();
    let signal = (STOP_SIGNAL.to_owned(), signal);
    launch
        .labels(name, hash)
        .into_iter()
        .chain([signal])
        .collect()
}

fn specification(
    id: &str,
    image: &PinnedRef,
    parts: &Parts,
    args: &[String],
    root: &Path,
) -> Result<prost_types::Any, DriverError> {
    let image = || image.to_string();
    let args = parts.config.command(args);
    let args = args.ok_or_else(|| DriverError::NoEntrypoint { image: image() })?;
    let process = Process {
        args: &args,
        env: &parts.config.env(),
        cwd: parts.config.working_dir(),
    };
    let spec = spec::spec(id, &process, &Host::prepare(root)?);
    Ok(prost_types::Any {
        type_url: SPEC.to_owned(),
        value: spec.to_string().into_bytes(),
    })
}

async fn record(leased: &Session, parts: &Parts, container: Container) -> Result<(), DriverError> {
    let top = chain_ids(parts.config.diff_ids()).pop();
    let request = PrepareSnapshotRequest {
        snapshotter: container.snapshotter.clone(),
        key: container.snapshot_key.clone(),
        parent: top.map(|top| top.to_string()).unwrap_or_default(),
        ..PrepareSnapshotRequest::default()
    };
    let mut snapshots = leased.snapshots();
    leased.call(snapshots.prepare(request)).await?;
    let container = Some(container);
    let mut containers = leased.containers();
    let request = CreateContainerRequest { container };
    leased.call(containers.create(request)).await?;
    Ok(())
}

/// runc is the default; on systems that have only crun it must be named.
fn runtime(root: &Path) -> Runtime {
    let options = host::alternative_runtime(root).map(|program| {
        let options = runc::Options {
            binary_name: program.to_string_lossy().into_owned(),
        };
        prost_types::Any {
            type_url: OPTIONS.to_owned(),
            value: options.encode_to_vec(),
        }
    });
    Runtime {
        name: RUNTIME.to_owned(),
        options,
    }
}

/// containerd requires letters and digits, with a single `.`, `_` or `-` between them.
fn name(scheduler: &str, suffix: &str) -> String {
    let mut name = String::from("schedkit-");
    for character in scheduler.chars().take(MAX_NAME) {
        match character {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if !name.ends_with(['.', '_', '-']) => match character {
                '.' | '_' => name.push(character),
                _ => name.push('-'),
            },
            _ => {}
        }
    }
    let name = name.trim_end_matches(['.', '_', '-']);
    format!("{name}-{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_for_containerd() {
        assert_eq!(name("scx_lavd", "0a"), "schedkit-scx_lavd-0a");
        assert_eq!(name("a b//../c__d-", "0a"), "schedkit-a-b-c_d-0a");
        assert_eq!(name("ü", "0a"), "schedkit-0a");
        assert!(name(&"x".repeat(300), "01234567").len() <= 76);
    }
}
