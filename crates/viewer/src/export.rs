//! The page and its tapes as one file that needs no server: it opens from a disk or a mail, without a network.
//!
//! Browsers load no modules beside a page that is a file itself. So every module becomes a `data:` address, and an import
//! map gives it a name; relative imports are rewritten to those names.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::assets;
use crate::source::About;
use crate::tape::Tape;

/// As strict as a page can be that has everything in itself.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// The page with these tapes, as far as they have been read.
pub fn export(about: &About, tapes: &[Arc<Tape>]) -> io::Result<String> {
    let tapes = tapes.iter().map(|tape| tape.whole()).collect::<io::Result<Vec<_>>>()?;
    let data = format!("{{\"about\":{},\"tapes\":[{}]}}", serde_json::to_string(about)?, tapes.join(","));
    let (_, index) = asset("index.html")?;
    let mut page = String::with_capacity(data.len() + (1 << 20));
    for line in index.lines() {
        page.push_str(&inlined(line, &data)?);
        page.push('\n');
    }
    Ok(page)
}

/// A line of the page with what it names in it.
fn inlined(line: &str, data: &str) -> io::Result<String> {
    let indent = &line[..line.len() - line.trim_start().len()];
    if line.contains("<meta charset") {
        return Ok(format!("{line}\n{indent}<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\" />"));
    }
    let named = attribute(line, "href=\"/").or_else(|| attribute(line, "src=\"/"));
    let Some(name) = named else { return Ok(line.to_owned()) };
    let (kind, text) = asset(name)?;
    if line.contains("rel=\"stylesheet\"") {
        return Ok(format!("<style>\n{text}</style>"));
    }
    if name == "main.js" {
        let map = serde_json::json!({ "imports": imports()? }).to_string();
        return Ok(format!(
            "<script type=\"importmap\">{}</script>\n<script type=\"application/json\" id=\"exported\">{}</script>\n\
             <script type=\"module\">import \"meshlock/main.js\";</script>",
            within_script(&map),
            within_script(data)
        ));
    }
    if line.contains("<script") {
        return Ok(format!("<script>\n{text}</script>"));
    }
    Ok(line.replace(&format!("/{name}"), &data_address(kind, text)))
}

fn asset(name: &str) -> io::Result<(&'static str, &'static str)> {
    assets::find(name).ok_or_else(|| io::Error::other(format!("the page has no file {name}")))
}

/// What stands between these words and the next quotation mark.
fn attribute<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(before)?;
    rest.split('"').next()
}

/// All modules by name, as addresses.
fn imports() -> io::Result<Map<String, Value>> {
    let module = |name: &&str| name.ends_with(".js");
    let address = |name| {
        let (kind, text) = asset(name)?;
        Ok((format!("meshlock/{name}"), Value::String(data_address(kind, &absolute(name, text)))))
    };
    assets::names().filter(module).map(address).collect()
}

/// A module whose relative imports are names of the import map.
fn absolute(name: &str, text: &str) -> String {
    let mut parts = text.split("from \".");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once('"').unwrap_or((part, ""));
        let mut folder: Vec<&str> = name.split('/').collect();
        folder.pop();
        // The first dot was taken off: "./x" is left as "/x", and "../x" as "./x".
        for step in path.split('/').filter(|step| !step.is_empty()) {
            if step == "." || step == ".." {
                folder.pop();
            } else {
                folder.push(step);
            }
        }
        out.push_str(&format!("from \"meshlock/{}\"{rest}", folder.join("/")));
    }
    out
}

fn data_address(kind: &str, text: &str) -> String {
    let mut address = format!("data:{},", kind.replace(' ', ""));
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'-' | b'_' | b'.' | b'/' | b'(' | b')' => {
                address.push(char::from(byte));
            }
            b'=' | b';' | b',' | b':' | b'*' | b'!' | b'@' | b'$' | b'[' | b']' => address.push(char::from(byte)),
            _ => {
                let _ = write!(address, "%{byte:02x}"); // a string takes everything
            }
        }
    }
    address
}

/// JSON that ends no script, whatever it says.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Kind;

    #[test]
    fn relative_imports_become_names_of_the_map() {
        let text = "import { a } from \"./a.js\";\nimport { b } from \"../b.js\";\n";
        let expected = "import { a } from \"meshlock/stage/a.js\";\nimport { b } from \"meshlock/b.js\";\n";
        assert_eq!(absolute("stage/index.js", text), expected);
        assert_eq!(absolute("main.js", "from \"./stage/a.js\""), "from \"meshlock/stage/a.js\"");
        assert_eq!(absolute("panels/x.js", "from \"../stage/a.js\""), "from \"meshlock/stage/a.js\"");
    }

    #[test]
    fn every_import_is_in_the_map_and_nothing_is_fetched() {
        let about = About {
            version: "1".into(),
            source: Kind::Trace,
            title: "</script><script>alert(1)</script>".into(),
            tapes: Vec::new(),
            can: Vec::new(),
            notes: Vec::new(),
        };
        let page = export(&about, &[]).unwrap();
        assert!(!page.contains("alert(1)</script>"), "a title ends the script that it stands in");
        assert!(!page.contains("=\"/") && !page.contains("http://") && !page.contains("https://"));
        let known = imports().unwrap();
        for name in assets::names().filter(|name| name.ends_with(".js")) {
            let text = absolute(name, asset(name).unwrap().1);
            for part in text.split("from \"meshlock/").skip(1) {
                let path = part.split('"').next().unwrap();
                assert!(path.ends_with(".d.ts") || known.contains_key(&format!("meshlock/{path}")), "{name}: {path}");
            }
        }
    }
}
