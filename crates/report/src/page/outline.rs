//! Headings: their tags, their anchors and the table of contents.

use std::collections::BTreeSet;

use super::{Block, inline};
use crate::markup::escape;

/// The headings of a page, gathered while it is written from top to bottom.
#[derive(Debug)]
pub(super) struct Outline {
    /// The smallest level in the page.
    top: u8,
    /// The headings so far that are not inside details.
    listed: Vec<Entry>,
    used: BTreeSet<String>,
}

#[derive(Debug)]
struct Entry {
    /// Below the top level.
    depth: u8,
    link: String,
}

impl Outline {
    /// An empty outline for a page of these blocks.
    pub(super) fn of(blocks: &[Block]) -> Self {
        let mut top = None;
        for block in blocks {
            if let Block::Heading(level, _) = block {
                top = Some(top.map_or(*level, |top: u8| top.min(*level)));
            }
        }
        Self { top: top.unwrap_or(1), listed: Vec::new(), used: BTreeSet::new() }
    }

    /// Adds a heading: its tag and its anchor. The page's title is the only `h1`; equal texts are numbered. Headings
    /// inside details have anchors, but are not in the table of contents.
    pub(super) fn heading(&mut self, level: u8, text: &str, listed: bool) -> (String, String) {
        let depth = level.saturating_sub(self.top);
        let anchor = escape(&self.unused(&slug(text)));
        if listed {
            let link = format!("<a href=\"#{anchor}\">{}</a>", escape(&inline::plain(text)));
            self.listed.push(Entry { depth, link });
        }
        (format!("h{}", depth.saturating_add(2).min(6)), anchor)
    }

    /// The table of contents: sections and their parts; none for a page of one section.
    pub(super) fn contents(&self) -> String {
        let listed: Vec<&Entry> = self.listed.iter().filter(|entry| entry.depth <= 1).collect();
        if listed.len() < 2 {
            return String::new();
        }
        let sections = listed.chunk_by(|_, next| next.depth > 0).map(|section| match section {
            [head, parts @ ..] if head.depth == 0 && !parts.is_empty() => {
                format!("<li>{}\n<ol>\n{}</ol>\n</li>\n", head.link, items(parts))
            }
            entries => items(entries),
        });
        format!("<nav aria-label=\"Contents\">\n<ol>\n{}</ol>\n</nav>\n", sections.collect::<String>())
    }

    fn unused(&mut self, slug: &str) -> String {
        let mut anchor = slug.to_owned();
        let mut number = 1;
        while !self.used.insert(anchor.clone()) {
            number += 1;
            anchor = format!("{slug}-{number}");
        }
        anchor
    }
}

fn items(entries: &[&Entry]) -> String {
    entries.iter().map(|entry| format!("<li>{}</li>\n", entry.link)).collect()
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in inline::plain(text).chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "section".to_owned() } else { slug.to_owned() }
}
