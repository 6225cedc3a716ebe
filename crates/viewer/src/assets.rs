//! The files of the page, in the program itself: it needs no folder and no network.

/// A file of the page: its name, its type and what is in it.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! page {
    ($($name:literal)*) => {
        &[$(Asset { name: $name, kind: kind($name), text: include_str!(concat!("../page/app/", $name)) }),*]
    };
}

/// All of them. A test compares the list with the folder.
pub(crate) const ASSETS: &[Asset] = page! {
    "index.html"
};

const fn kind(name: &str) -> &'static str {
    match name.as_bytes() {
        [.., b'h', b't', b'm', b'l'] => "text/html; charset=utf-8",
        [.., b'c', b's', b's'] => "text/css; charset=utf-8",
        [.., b's', b'v', b'g'] => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

/// The file of this name.
pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    let name = if name.is_empty() { "index.html" } else { name };
    ASSETS.iter().find(|asset| asset.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files(folder: &Path, under: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{under}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                files(&entry.path(), &format!("{name}/"), found);
            } else if !name.ends_with(".d.ts") {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let mut there = BTreeSet::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("page/app"), "", &mut there);
        let embedded: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(embedded, there, "the list in src/assets.rs is not the folder page/app");
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for asset in ASSETS {
            let outside = |line: &&str| {
                let elsewhere = line.contains("https://") || line.contains("http://");
                elsewhere && !line.contains("www.w3.org")
            };
            let lines: Vec<&str> = asset.text.lines().filter(outside).collect();
            assert!(lines.is_empty(), "{}: {lines:?}", asset.name);
        }
    }
}
