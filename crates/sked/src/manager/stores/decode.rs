//! Decodes objects of list and watch responses, keeping only what a store needs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sked_plan::ObjectKey;

use super::store::Stored;

/// A stored type that is filled from a watch.
pub(crate) trait Watched: Stored + Clone + fmt::Debug {
    /// The Kubernetes kind.
    type Kind: Resource<DynamicType = ()>;
    /// Whether the manager works without the kind: an earlier version's CRDs lack it.
    const OPTIONAL: bool = false;
    /// The fields that are deserialized.
    type Raw: DeserializeOwned + Clone + fmt::Debug + Send;
    /// Name, namespace and resource version.
    fn meta(raw: &Self::Raw) -> ObjectMeta;
    /// The object to store; `None` for one that is of no interest.
    fn read(raw: Self::Raw) -> Option<Self>;
}

/// An object of a watch event, decoded only as far as needed to see whether it is known already.
#[derive(Clone, Debug)]
pub(crate) struct Decoded<T: Watched> {
    /// Name, namespace and resource version.
    pub(crate) meta: ObjectMeta,
    pub(crate) raw: T::Raw,
}

impl<'de, T: Watched> Deserialize<'de> for Decoded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = T::Raw::deserialize(deserializer)?;
        Ok(Self {
            meta: T::meta(&raw),
            raw,
        })
    }
}

impl<T: Watched> Resource for Decoded<T> {
    type DynamicType = ();
    type Scope = <T::Kind as Resource>::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        T::Kind::kind(&())
    }
    fn group(_: &()) -> Cow<'_, str> {
        T::Kind::group(&())
    }
    fn version(_: &()) -> Cow<'_, str> {
        T::Kind::version(&())
    }
    fn plural(_: &()) -> Cow<'_, str> {
        T::Kind::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

/// The metadata that stores need.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MetaFields {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) uid: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) resource_version: Option<String>,
    pub(super) creation_timestamp: Option<Time>,
    pub(super) deletion_timestamp: Option<Time>,
    pub(super) owner_references: Vec<OwnerReference>,
}

impl MetaFields {
    /// In the form that kube's watcher needs.
    pub(super) fn object_meta(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.clone()),
            namespace: self.namespace.clone(),
            resource_version: self.resource_version.clone(),
            ..ObjectMeta::default()
        }
    }

    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey {
            namespace: self.namespace.clone().unwrap_or_default(),
            name: self.name.clone(),
        }
    }
}

/// A whole object without its `managedFields`, which are larger than the rest and are skipped.
#[derive(Clone, Debug)]
pub(crate) struct FullObject(pub(crate) Value);

impl<'de> Deserialize<'de> for FullObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = deserializer.deserialize_map(Fields { nested: true })?;
        Ok(Self(Value::Object(fields)))
    }
}

struct Fields {
    nested: bool,
}

struct Metadata(Map<String, Value>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(Fields { nested: false })
            .map(Self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let value = match name.as_str() {
                "metadata" if self.nested => Value::Object(access.next_value::<Metadata>()?.0),
                "managedFields" if !self.nested => {
                    access.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => access.next_value()?,
            };
            fields.insert(name, value);
        }
        Ok(fields)
    }
}

/// A whole object of which only name, namespace and version were parsed: most watch events report
/// our own writes, and those objects need not be parsed.
#[derive(Clone, Debug)]
pub(crate) struct RawObject {
    head: Head,
    text: Box<RawValue>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: HeadMeta,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
}

impl RawObject {
    /// In the form that kube's watcher needs.
    pub(super) fn meta(&self) -> ObjectMeta {
        let HeadMeta {
            name,
            namespace,
            resource_version,
        } = self.head.metadata.clone();
        ObjectMeta {
            name,
            namespace,
            resource_version,
            ..ObjectMeta::default()
        }
    }

    /// `None` if it is no JSON object.
    pub(super) fn parse(&self) -> Option<Value> {
        let object = serde_json::from_str::<FullObject>(self.text.get()).ok()?;
        Some(object.0)
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let head = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self { head, text })
    }
}

#[cfg(test)]
mod tests {
    use kube::core::WatchEvent;

    use super::*;

    #[test]
    fn managed_fields_are_skipped_and_everything_else_is_read() {
        let text = r#"{"metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:spec":{}}}]},"spec":{"managedFields":1}}"#;
        let FullObject(object) = serde_json::from_str(text).unwrap();
        let expected = serde_json::json!({"metadata": {"name": "a"}, "spec": {"managedFields": 1}});
        assert_eq!(object, expected);
    }

    #[test]
    fn an_object_of_a_watch_event_is_parsed_in_two_steps() {
        let text = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b","resourceVersion":"7"},"spec":{"x":1}}}"#;
        let event: WatchEvent<RawObject> = serde_json::from_str(text).unwrap();
        let WatchEvent::Added(raw) = event else {
            panic!("{event:?}");
        };
        let meta = raw.meta();
        let text = |of: Option<String>| of.unwrap_or_default();
        assert_eq!(
            [meta.name, meta.namespace, meta.resource_version].map(text),
            ["a", "b", "7"]
        );
        assert_eq!(raw.parse().unwrap()["spec"]["x"], 1);
    }
}
