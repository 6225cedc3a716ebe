//! What is read, what is refused, and in which words.

mod mistakes;
mod reading;

use super::Document;

/// How the first mistake of a scenario is told, after some keys were set.
fn told(text: &str, sets: &[(&str, &str)]) -> String {
    let mut document = match Document::parse("demo.toml", text) {
        Ok(document) => document,
        Err(error) => return error.to_string(),
    };
    for (key, value) in sets {
        if let Err(error) = document.set(key, value) {
            return error.to_string();
        }
    }
    match (document.study(), document.resolve()) {
        (Err(error), _) | (_, Err(error)) => error.to_string(),
        (Ok(_), Ok(_)) => "nothing is wrong".to_owned(),
    }
}
