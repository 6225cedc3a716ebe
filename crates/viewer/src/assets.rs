//! The files of the page, in the program itself: it needs no folder and no network.

/// Names and texts of all files in `page/app`, without the types; `build.rs` writes the list.
const PAGE: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// A file of the page: its media type and its text.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "" => find("index.html"),
        "theme.css" => Some((kind(name), meshlock_report::THEME)),
        name => PAGE.iter().find(|(file, _)| *file == name).map(|(_, text)| (kind(name), *text)),
    }
}

/// The names of all files but the theme.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PAGE.iter().map(|(name, _)| *name)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Compares a folder of the page with what is built in, and counts its files.
    fn embedded(folder: &Path, within: &str) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        let count = |entry: std::fs::DirEntry| {
            let name = format!("{within}{}", entry.file_name().into_string().unwrap());
            if entry.path().is_dir() {
                return embedded(&entry.path(), &format!("{name}/"));
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let expected = (!name.ends_with(".d.ts")).then_some(text.as_str());
            assert_eq!(find(&name).map(|(_, text)| text), expected, "{name}");
            usize::from(expected.is_some())
        };
        entries.map(count).sum()
    }

    #[test]
    fn every_file_of_the_page_is_built_in() {
        let files = embedded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("page/app"), "");
        assert_eq!(files, PAGE.len(), "a file that is gone is still built in");
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for (name, text) in PAGE {
            let elsewhere = |line: &&str| line.contains("https://") || line.contains("http://");
            let lines: Vec<&str> = text.lines().filter(elsewhere).filter(|line| !line.contains("www.w3.org")).collect();
            assert!(lines.is_empty(), "{name}: {lines:?}");
        }
    }

    #[test]
    fn the_page_shares_the_look_of_reports() {
        assert_eq!(find("theme.css").unwrap().1, meshlock_report::THEME);
        assert!(find("types.d.ts").is_none() && find("nothing.js").is_none());
    }
}
