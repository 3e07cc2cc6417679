//! How objects come off the wire: only what a store keeps survives the reading.

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

use super::store::Kept;

/// Something that is watched.
pub(crate) trait Watched: Kept + Clone + fmt::Debug {
    /// What the API server calls it.
    type Kind: Resource<DynamicType = ()>;
    /// What is read.
    type Wire: DeserializeOwned + Clone + fmt::Debug + Send;
    /// Its name, namespace and version.
    fn meta(wire: &Self::Wire) -> ObjectMeta;
    /// What is kept of it; nothing of what is of no concern.
    fn read(wire: Self::Wire) -> Option<Self>;
}

/// An object as a watch shows it: read only as far as it takes to see whether it is news.
#[derive(Clone, Debug)]
pub(crate) struct Seen<T: Watched> {
    /// Name, namespace and version.
    pub(crate) meta: ObjectMeta,
    /// The rest.
    pub(crate) wire: T::Wire,
}

impl<'de, T: Watched> Deserialize<'de> for Seen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = T::Wire::deserialize(deserializer)?;
        Ok(Self {
            meta: T::meta(&wire),
            wire,
        })
    }
}

impl<T: Watched> Resource for Seen<T> {
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

/// The metadata that every kind has, but for what is large and of no use here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireMeta {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) uid: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) resource_version: Option<String>,
    pub(super) creation_timestamp: Option<Time>,
    pub(super) deletion_timestamp: Option<Time>,
    pub(super) owner_references: Vec<OwnerReference>,
}

impl WireMeta {
    /// As the watch wants it.
    pub(super) fn seen(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.clone()),
            namespace: self.namespace.clone(),
            resource_version: self.resource_version.clone(),
            ..ObjectMeta::default()
        }
    }

    /// Namespace and name.
    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey {
            namespace: self.namespace.clone().unwrap_or_default(),
            name: self.name.clone(),
        }
    }
}

/// A whole object, whatever it says, without its `managedFields`: they are larger than the rest
/// and are skipped unread.
#[derive(Clone, Debug)]
pub(crate) struct Whole(pub(crate) Value);

impl<'de> Deserialize<'de> for Whole {
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

/// A whole object of which only name, namespace and version were read: most of what a watch tells
/// is what we wrote ourselves, and costs no more than that.
#[derive(Clone, Debug)]
pub(crate) struct Unread {
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

impl Unread {
    /// As the watch wants it.
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

    /// All of it; nothing when it is no object.
    pub(super) fn whole(&self) -> Option<Value> {
        let whole = serde_json::from_str::<Whole>(self.text.get()).ok()?;
        Some(whole.0)
    }
}

impl<'de> Deserialize<'de> for Unread {
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
    fn managed_fields_are_skipped_and_all_else_is_read() {
        let text = r#"{"metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:spec":{}}}]},"spec":{"managedFields":1}}"#;
        let Whole(object) = serde_json::from_str(text).unwrap();
        let expected = serde_json::json!({"metadata": {"name": "a"}, "spec": {"managedFields": 1}});
        assert_eq!(object, expected);
    }

    #[test]
    fn what_a_watch_tells_is_read_in_two_steps() {
        let text = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b","resourceVersion":"7"},"spec":{"x":1}}}"#;
        let event: WatchEvent<Unread> = serde_json::from_str(text).unwrap();
        let WatchEvent::Added(unread) = event else {
            panic!("{event:?}");
        };
        let meta = unread.meta();
        let text = |of: Option<String>| of.unwrap_or_default();
        assert_eq!(
            [meta.name, meta.namespace, meta.resource_version].map(text),
            ["a", "b", "7"]
        );
        assert_eq!(unread.whole().unwrap()["spec"]["x"], 1);
    }
}
