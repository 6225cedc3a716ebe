//! Two definitions of one name, in words.

use meshlock_api::Definition;
use serde_json::Value;

/// What differs, such as `capacity is 5 in the file and 4 in the mesh`.
pub(crate) fn differences(here: (&Definition, &str), there: (&Definition, &str)) -> String {
    let fields = |definition: &Definition| match serde_json::to_value(definition) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => serde_json::Map::new(), // a definition is written as an object
    };
    let (ours, theirs) = (fields(here.0), fields(there.0));
    let names: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differs = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)).map(|name| {
        let (ours, theirs) = (words(ours.get(name)), words(theirs.get(name)));
        format!("{} is {ours} {} and {theirs} {}", name.replace('_', "-"), here.1, there.1)
    });
    differs.collect::<Vec<_>>().join(", ")
}

fn words(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "missing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(fields)) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::Object(inner) => {
                    format!("{name} ({})", inner.iter().map(|(n, v)| format!("{n} {v}")).collect::<Vec<_>>().join(", "))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    format!("{name} {value}")
                }
            };
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
    }
}

/// A definition that was asked for is not the one of the mesh.
pub(crate) fn refused(name: &str, wanted: &Definition, agreed: &Definition) -> String {
    let differs = differences((wanted, "as wanted"), (agreed, "in this mesh"));
    format!(
        "{name:?} is defined otherwise in this mesh: {differs}. Use the same definition or another name; `meshlock resource \
         set` changes capacity and lease, and `meshlock resource make --replace` everything while no client uses it"
    )
}

/// What a node's file declares is not what the mesh agreed on.
pub(crate) fn declared(
    node: &str,
    file: Option<&str>,
    name: &str,
    declared: &Definition,
    agreed: &Definition,
) -> String {
    let differs = differences((declared, "in the file"), (agreed, "in the mesh"));
    let file = file.map_or_else(|| "its configuration".to_owned(), |file| format!("the file {file}"));
    format!(
        "node {node} does not serve {name:?}, because {file} declares it otherwise than the mesh: {differs}. Correct [resources.\
         {name}] there and send the node SIGHUP, or change the mesh with `meshlock resource set` or `meshlock resource make \
         --replace`"
    )
}

#[cfg(test)]
mod tests {
    use meshlock_api::{NewResource, Order};

    use super::*;

    #[test]
    fn only_what_differs_is_named_in_words() {
        let four = NewResource { capacity: Some(4), ..NewResource::default() };
        let other = NewResource { capacity: Some(5), order: Some(Order::Deadline), ..four.clone() };
        let (four, other) = (four.complete().unwrap(), other.complete().unwrap());
        let told = declared("n2", Some("/etc/m.toml"), "gpus", &other, &four);
        let expected = "capacity is 5 in the file and 4 in the mesh, order is deadline in the file and priority (aging 16) in \
                        the mesh.";
        assert!(told.contains(expected), "{told}");
        assert!(told.contains("node n2") && told.contains("/etc/m.toml") && !told.contains("Definition"), "{told}");
        assert!(!told.contains("kind") && !told.contains("lease"), "{told}");
    }
}
