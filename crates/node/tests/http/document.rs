//! The OpenAPI document: current, complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use meshlock_node::http::openapi_document;
use serde_json::Value;

#[test]
fn the_document_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let expected = openapi_document();
    if std::env::var_os("MESHLOCK_WRITE").is_some() {
        fs::write(file, expected).expect("it can be written");
        return;
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    let how = "MESHLOCK_WRITE=1 cargo test -p meshlock-node --test http document";
    assert!(found == expected, "docs/openapi.json is not current; write it with: {how}");
}

#[test]
fn the_document_has_every_address() {
    let document: Value = serde_json::from_str(&openapi_document()).expect("JSON");
    let paths = document["paths"].as_object().expect("an object");
    let found: BTreeSet<String> = paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().expect("an object").keys().map(move |method| format!("{method} {path}"))
        })
        .collect();
    let expected: BTreeSet<String> =
        crate::random::ROUTES.iter().map(|(method, path)| format!("{method} {path}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn everything_in_the_document_is_described() {
    let document: Value = serde_json::from_str(&openapi_document()).expect("JSON");
    assert!(document["openapi"].as_str().expect("a version").starts_with("3.1"));
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            let place = format!("{method} {path}");
            assert!(operation["summary"].is_string() && operation["operationId"].is_string(), "{place}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let described = parameter["description"].is_string() && !parameter["example"].is_null();
                assert!(described, "{place}: {parameter}");
            }
            for (status, answer) in operation["responses"].as_object().expect("an object") {
                assert!(answer["description"].as_str().is_some_and(|text| !text.is_empty()), "{place} {status}");
            }
        }
    }
}
