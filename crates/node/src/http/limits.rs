//! Limits and formats of what comes in, for the description of the interface: those that the server enforces.

use meshlock_api::MOST_PARTS;
use meshlock_api::resource::{LONGEST_LEASE_MS, LONGEST_NAME, MANY, SHORTEST_LEASE_MS};
use meshlock_api::text::LONGEST_TEXT;
use utoipa::Number;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{AdditionalProperties, KnownFormat, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{Components, RefOr, Schema};

use super::parts::LARGEST_BODY;

/// The name of a resource: visible ASCII without what has a meaning in an address or in quotes; none of the mesh's own.
const NAME: &str = r"^(?!meshlock:)[!$&-.0->@-\[\]-~]{1,128}$";
/// An id that a client chooses: visible ASCII without what has a meaning in an address. Those with ~ are the node's.
const OWN_ID: &str = "^[!\"$&-.0->@-}][!\"$&-.0->@-~]{0,127}$";
/// An id of any request.
const ANY_ID: &str = "^[!\"$&-.0->@-~]{1,128}$";
/// No control characters.
const TEXT: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// A number, and `ms`, `s`, `m` or `h`.
const TIME: &str = r"^[0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)?$";
/// Base64.
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

enum Limit {
    Text(&'static str, usize),
    Number(u64, u64),
}

use Limit::{Number as Range, Text};

/// Fields of bodies, by their type.
const FIELDS: &[(&str, &str, Limit)] = &[
    ("NewRequest", "id", Text(OWN_ID, 128)),
    ("NewRequest", "resource", Text(NAME, LONGEST_NAME)),
    ("NewRequest", "units", Range(1, MANY as u64)),
    ("NewRequest", "session", Text(TEXT, LONGEST_TEXT)),
    ("NewRequest", "owner", Text(TEXT, LONGEST_TEXT)),
    ("NewRequest", "lease_ms", Range(SHORTEST_LEASE_MS, LONGEST_LEASE_MS)),
    ("NewPart", "resource", Text(NAME, LONGEST_NAME)),
    ("NewPart", "units", Range(1, MANY as u64)),
    ("NewPart", "session", Text(TEXT, LONGEST_TEXT)),
    ("NewResource", "capacity", Range(1, MANY as u64)),
    ("NewResource", "lease_ms", Range(SHORTEST_LEASE_MS, LONGEST_LEASE_MS)),
    ("ResourceChange", "capacity", Range(1, MANY as u64)),
    ("ResourceChange", "lease_ms", Range(SHORTEST_LEASE_MS, LONGEST_LEASE_MS)),
    ("Renewal", "lease_ms", Range(SHORTEST_LEASE_MS, LONGEST_LEASE_MS)),
    ("NewRevocation", "id", Text(ANY_ID, 128)),
    ("NewRevocation", "node", Text(TEXT, LONGEST_TEXT)),
    ("NewRevocation", "reason", Text(TEXT, LONGEST_TEXT)),
    ("NewRevocation", "by", Text(TEXT, LONGEST_TEXT)),
    ("Removal", "removal", Text(BASE64, LARGEST_BODY / 2)),
];

/// Choices that are written as an object with one field, and no other.
const EXACT: &[&str] = &["Urgency", "Order"];

/// Parts of addresses, by their name.
const PARAMETERS: &[(&str, Limit)] = &[
    ("block_for", Text(TIME, 24)),
    ("patience", Text(TIME, 24)),
    ("name", Text(NAME, LONGEST_NAME)),
    ("resource", Text(NAME, LONGEST_NAME)),
    ("id", Text(ANY_ID, 128)),
];

/// Adds them to the types of bodies.
pub(super) fn constrain_bodies(components: &mut Components) {
    for schema in components.schemas.values_mut() {
        fit(schema);
    }
    for name in EXACT {
        if let Some(RefOr::T(Schema::OneOf(choices))) = components.schemas.get_mut(*name) {
            choices.items.iter_mut().for_each(close);
        }
    }
    if let Some(RefOr::T(Schema::Object(change))) = components.schemas.get_mut("ResourceChange") {
        change.min_properties = Some(1);
    }
    if let Some(RefOr::T(Schema::Object(asked))) = components.schemas.get_mut("NewRequest")
        && let Some(RefOr::T(Schema::Array(all))) = asked.properties.get_mut("all")
    {
        all.max_items = Some(MOST_PARTS);
    }
    for (schema, field, limit) in FIELDS {
        let Some(RefOr::T(Schema::Object(object))) = components.schemas.get_mut(*schema) else { continue };
        if let Some(field) = object.properties.get_mut(*field) {
            apply(field, limit);
        }
    }
}

/// Adds them to an address.
pub(super) fn constrain_address(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        let Some(schema) = &mut parameter.schema else { continue };
        if let RefOr::T(Schema::Object(object)) = schema
            && let SchemaType::Array(types) = &object.schema_type
            && let Some(only) = types.iter().find(|one| !matches!(one, Type::Null))
        {
            // A part of an address is there or not; it is never null.
            object.schema_type = SchemaType::Type(only.clone());
        }
        if let Some((_, limit)) = PARAMETERS.iter().find(|(name, _)| *name == parameter.name) {
            apply(schema, limit);
        }
    }
}

fn close(choice: &mut RefOr<Schema>) {
    let RefOr::T(Schema::Object(object)) = choice else { return };
    if !object.properties.is_empty() {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

fn apply(schema: &mut RefOr<Schema>, limit: &Limit) {
    let RefOr::T(Schema::Object(object)) = schema else { return };
    match limit {
        Text(pattern, longest) => {
            object.pattern = Some((*pattern).to_owned());
            object.max_length = Some(*longest);
        }
        Range(least, most) => {
            object.minimum = Some(number(*least));
            object.maximum = Some(number(*most));
        }
    }
}

fn number(number: u64) -> Number {
    Number::UInt(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Whole numbers end where their type does.
fn fit(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => {
            let is_unsigned = object.minimum.is_some();
            let range = match (&object.format, is_unsigned) {
                (Some(SchemaFormat::KnownFormat(KnownFormat::Int32)), true) => Some((0, u64::from(u32::MAX))),
                (Some(SchemaFormat::KnownFormat(KnownFormat::Int64)), true) => Some((0, u64::MAX)),
                (Some(SchemaFormat::KnownFormat(KnownFormat::Int32)), false) => {
                    object.minimum = Some(Number::Int(i32::MIN as isize));
                    object.maximum = Some(Number::Int(i32::MAX as isize));
                    None
                }
                (_, _) => None,
            };
            if let Some((least, most)) = range {
                object.minimum = Some(number(least));
                object.maximum = Some(number(most));
                // The formats of OpenAPI are signed; the limits say it exactly.
                object.format = None;
            }
            object.properties.values_mut().for_each(fit);
        }
        Schema::OneOf(one) => one.items.iter_mut().for_each(fit),
        Schema::AllOf(all) => all.items.iter_mut().for_each(fit),
        Schema::AnyOf(any) => any.items.iter_mut().for_each(fit),
        Schema::Array(_) => {}
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::http::openapi_document;

    #[test]
    fn every_limit_of_the_table_is_in_the_document() {
        let document: Value = serde_json::from_str(&openapi_document()).unwrap();
        for (schema, field, limit) in FIELDS {
            let found = &document["components"]["schemas"][schema]["properties"][field];
            let expected = match limit {
                Text(pattern, _) => found["pattern"] == **pattern && found["maxLength"].is_number(),
                Range(least, most) => found["minimum"] == *least && found["maximum"] == *most,
            };
            assert!(expected, "{schema}.{field}: {found}");
        }
    }
}
