//! Events that say why a DaemonSet's pods are not made.

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::observed::Refusal;
use sked_plan::{ObjectKey, Uid};

use super::store::Kept;
use super::wire::{Watched, WireMeta};

/// An event on the wire.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wire {
    metadata: WireMeta,
    involved_object: Involved,
    #[serde(default)]
    message: String,
    last_timestamp: Option<Time>,
    event_time: Option<MicroTime>,
    series: Option<Series>,
}

#[derive(Clone, Debug, Deserialize)]
struct Involved {
    #[serde(default)]
    uid: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    last_observed_time: Option<MicroTime>,
}

/// A refusal and the event that tells of it.
#[derive(Clone, Debug)]
pub(crate) struct RefusalSeen {
    key: ObjectKey,
    pub(crate) refusal: Refusal,
}

impl Kept for RefusalSeen {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    /// The DaemonSet.
    fn groups(&self) -> [Option<&Uid>; 2] {
        [Some(&self.refusal.daemonset), None]
    }

    fn same(&self, other: &Self) -> bool {
        self.refusal == other.refusal
    }
}

impl Watched for RefusalSeen {
    type Kind = Event;
    type Wire = Wire;

    fn meta(wire: &Wire) -> ObjectMeta {
        wire.metadata.seen()
    }

    fn read(wire: Wire) -> Option<Self> {
        let observed = wire.series.and_then(|series| series.last_observed_time);
        let at = observed
            .or(wire.event_time)
            .map(|time| time.0)
            .into_iter()
            .chain(wire.last_timestamp.map(|time| time.0))
            .chain(wire.metadata.creation_timestamp.as_ref().map(|time| time.0))
            .max()
            .unwrap_or_default();
        Some(Self {
            key: wire.metadata.key(),
            refusal: Refusal {
                daemonset: Uid(wire.involved_object.uid),
                message: wire.message,
                at,
            },
        })
    }
}
