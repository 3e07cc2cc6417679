//! FailedCreate events: why the DaemonSet controller could not create pods.

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::observed::FailedCreate;
use sked_plan::{ObjectKey, Uid};

use super::decode::{MetaFields, Watched};
use super::store::Stored;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawEvent {
    metadata: MetaFields,
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

/// A failure to create a pod, and the name of its event.
#[derive(Clone, Debug)]
pub(crate) struct FailedCreateEvent {
    key: ObjectKey,
    pub(crate) failed_create: FailedCreate,
}

impl Stored for FailedCreateEvent {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn groups(&self) -> [Option<&Uid>; 2] {
        [Some(&self.failed_create.daemonset), None]
    }

    fn same(&self, other: &Self) -> bool {
        self.failed_create == other.failed_create
    }
}

impl Watched for FailedCreateEvent {
    type Kind = Event;
    type Raw = RawEvent;

    fn meta(raw: &RawEvent) -> ObjectMeta {
        raw.metadata.object_meta()
    }

    fn read(raw: RawEvent) -> Option<Self> {
        let observed = raw.series.and_then(|series| series.last_observed_time);
        let at = observed
            .or(raw.event_time)
            .map(|time| time.0)
            .into_iter()
            .chain(raw.last_timestamp.map(|time| time.0))
            .chain(raw.metadata.creation_timestamp.as_ref().map(|time| time.0))
            .max()
            .unwrap_or_default();
        Some(Self {
            key: raw.metadata.key(),
            failed_create: FailedCreate {
                daemonset: Uid(raw.involved_object.uid),
                message: raw.message,
                at,
            },
        })
    }
}
