//! Where a field is in a schema: `spec.pools[].env[].name` goes through the items of lists,
//! `spec.nodeSelector{}` to the values of a map, and an empty path is the whole object.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// The items of a list, at the end of a path's segment.
pub const ITEMS: &str = "[]";
/// The values of a map, at the end of a path's segment.
pub const VALUES: &str = "{}";

/// The field at `path`, if the schema has it.
pub fn find<'a>(schema: &'a mut JSONSchemaProps, path: &str) -> Option<&'a mut JSONSchemaProps> {
    let mut place = schema;
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        place = place.properties.as_mut()?.get_mut(name)?;
        let mut inward = &segment[name.len()..];
        while !inward.is_empty() {
            let (step, rest) = inward.split_at_checked(ITEMS.len())?;
            place = match step {
                ITEMS => items(place)?,
                VALUES => values(place)?,
                _ => return None,
            };
            inward = rest;
        }
    }
    Some(place)
}

/// Visits `schema` and every field in it.
pub fn walk(schema: &mut JSONSchemaProps, visit: &mut dyn FnMut(&mut JSONSchemaProps)) {
    visit(schema);
    for field in schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut())
    {
        walk(field, visit);
    }
    if let Some(items) = items(schema) {
        walk(items, visit);
    }
    if let Some(values) = values(schema) {
        walk(values, visit);
    }
}

fn items(list: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match list.items.as_mut()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn values(map: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match map.additional_properties.as_mut()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}
