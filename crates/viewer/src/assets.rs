//! The files of the page, in the program itself: it needs no folder and no network.

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "page/app/"]
#[exclude = "*.d.ts"]
struct Page;

/// A file of the page: its type and what is in it.
pub(crate) fn find(name: &str) -> Option<(&'static str, Cow<'static, [u8]>)> {
    match name {
        "" => find("index.html"),
        "theme.css" => Some((kind(name), Cow::Borrowed(meshlock_report::THEME.as_bytes()))),
        name => Page::get(name).map(|file| (kind(name), file.data)),
    }
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
    use super::*;

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        let names: Vec<_> = Page::iter().collect();
        assert!(names.contains(&"index.html".into()) && names.len() > 20, "{names:?}");
        for name in names {
            let text = String::from_utf8(Page::get(&name).unwrap().data.into_owned()).unwrap();
            let elsewhere = |line: &&str| line.contains("https://") || line.contains("http://");
            let lines: Vec<&str> = text.lines().filter(elsewhere).filter(|line| !line.contains("www.w3.org")).collect();
            assert!(lines.is_empty(), "{name}: {lines:?}");
        }
    }

    #[test]
    fn the_page_shares_the_look_of_reports() {
        assert_eq!(find("theme.css").unwrap().1, meshlock_report::THEME.as_bytes());
        assert!(find("types.d.ts").is_none() && find("nothing.js").is_none());
    }
}
