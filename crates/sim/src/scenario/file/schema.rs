//! The JSON schema of scenario files, for editors that complete and check TOML.

use serde_json::{Map, Value, json};

use super::draw;
use super::keys::{self, Given, Key, SECTIONS, Section};
use super::kind::Kind;
use super::quantity::{Quantity, Range};

pub fn schema() -> String {
    let mut root = section(&SECTIONS[0]);
    root.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    root.insert("title".to_owned(), json!("meshlock scenario"));
    // Maps of strings and numbers can always be written.
    format!("{:#}\n", Value::Object(root))
}

fn section(section: &Section) -> Map<String, Value> {
    let mut properties: Map<String, Value> =
        keys::keys_of(section.path).map(|known| (known.name().to_owned(), key(known))).collect();
    let mut needed: Vec<&str> = keys::keys_of(section.path)
        .filter(|key| key.given == Given::Needed && key.only.is_empty())
        .map(Key::name)
        .collect();
    if section.path == "traffic.class" {
        needed.push("name");
    }
    for inner in SECTIONS.iter().filter(|inner| is_inside(inner.path, section.path)) {
        let name = inner.path.rsplit_once('.').map_or(inner.path, |(_, name)| name);
        let table = Value::Object(self::section(inner));
        let value = if inner.repeated { json!({ "type": "array", "items": table }) } else { table };
        properties.insert(name.to_owned(), value);
    }
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("description".to_owned(), json!(section.about));
    object.insert("properties".to_owned(), Value::Object(properties));
    object.insert("additionalProperties".to_owned(), json!(section.free));
    if !needed.is_empty() {
        object.insert("required".to_owned(), json!(needed));
    }
    object
}

fn is_inside(inner: &str, outer: &str) -> bool {
    match inner.rsplit_once('.') {
        Some((parent, _)) => parent == outer,
        None => outer.is_empty() && !inner.is_empty(),
    }
}

fn key(key: &Key) -> Value {
    let mut schema = kind(key.kind);
    let only = if key.only.is_empty() { String::new() } else { format!(" (only for {})", key.only) };
    if let Value::Object(map) = &mut schema {
        map.insert("description".to_owned(), json!(format!("{}{only}", key.about)));
        if let Given::Default(text) = key.given
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            map.insert("default".to_owned(), value);
        }
    }
    schema
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::File => json!({ "type": "string", "minLength": 1 }),
        Kind::Word(words) => json!({ "enum": words() }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole(least, i64::MAX) => json!({ "type": "integer", "minimum": least }),
        Kind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Real(range) => number(range),
        Kind::Amount(quantity, _) => amount(quantity),
        Kind::AmountOr(quantity, _, word) => json!({ "anyOf": [{ "const": word }, amount(quantity)] }),
        Kind::Draw(Quantity::Count, _) => json!({ "anyOf": [{ "type": "integer" }, distribution()] }),
        Kind::Draw(quantity, _) => json!({ "anyOf": [amount(quantity), distribution()] }),
        Kind::Retry => json!({ "type": "string", "examples": ["1s..2s", "none"] }),
        Kind::Pair(quantity, _) => json!({ "type": "array", "items": amount(quantity), "minItems": 2, "maxItems": 2 }),
        Kind::Link => link(),
        Kind::Links => json!({ "type": "array", "items": link() }),
        Kind::Nodes => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": "^(all|[0-9]+\\.\\.[0-9]+)$" },
            { "type": "array", "items": { "type": "integer", "minimum": 0 } },
        ] }),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Groups => json!({ "type": "array", "items": { "type": ["string", "array"] } }),
        Kind::Raw => json!({}),
    }
}

fn number(range: Range) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("number"));
    if range.low.is_finite() {
        map.insert(if range.above { "exclusiveMinimum" } else { "minimum" }.to_owned(), json!(range.low));
    }
    if range.high.is_finite() {
        map.insert("maximum".to_owned(), json!(range.high));
    }
    Value::Object(map)
}

fn amount(quantity: Quantity) -> Value {
    let units = quantity.unit_names().join("|");
    json!({ "type": "string", "pattern": format!("^ *[0-9.eE+-]+ *({units}) *$"), "examples": [quantity.example()] })
}

fn distribution() -> Value {
    json!({ "type": "string", "pattern": format!("^ *({}) *\\(.*\\) *$", draw::NAMES.join("|")) })
}

fn link() -> Value {
    json!({ "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 2, "maxItems": 2 })
}
