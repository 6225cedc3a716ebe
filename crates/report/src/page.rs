//! One self-contained HTML page: nothing is loaded, nothing runs.
//!
//! Paragraphs, lists, captions and summaries may contain `` `code` `` and `[text](#anchor)` or `[text](https://...)`;
//! all other text is taken as it is. A heading's anchor is its text in small letters, with hyphens for all else.

mod inline;
mod outline;
#[cfg(test)]
mod tests;

use crate::markup::escape;
use crate::table::Table;
use outline::Outline;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub title: String,
    /// A line below the title; may be empty.
    pub subtitle: String,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading of this level. The smallest level of a page is its sections, whatever its number.
    Heading(u8, String),
    Paragraph(String),
    List(Vec<String>),
    Table {
        /// Above the table; may be empty.
        caption: String,
        table: Table,
    },
    Figure {
        /// The `<svg>` element of a chart of this crate; it goes into the page as it is.
        svg: String,
        /// Below the chart; may be empty.
        caption: String,
    },
    /// Commands, files, output: shown as it is.
    Code(String),
    Details {
        /// What is always seen.
        summary: String,
        blocks: Vec<Self>,
    },
}

impl Page {
    pub fn html(&self) -> String {
        let mut outline = Outline::of(&self.blocks);
        let content = render(&self.blocks, &mut outline, true);
        let (title, contents) = (escape(&self.title), outline.contents());
        let (theme, style) = (crate::THEME, include_str!("page/style.css"));
        let subtitle = match self.subtitle.trim() {
            "" => String::new(),
            text => format!("<p class=\"subtitle\">{}</p>\n", inline::render(text)),
        };
        // The policy makes the promise of this module binding: a browser would refuse to load or run anything.
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
             <style>\n{theme}{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n{subtitle}</header>\n\
             {contents}<main>\n{content}</main>\n</body>\n</html>\n"
        )
    }
}

/// `listed` tells whether headings go into the table of contents.
fn render(blocks: &[Block], outline: &mut Outline, listed: bool) -> String {
    blocks.iter().map(|block| render_block(block, outline, listed)).collect()
}

fn render_block(block: &Block, outline: &mut Outline, listed: bool) -> String {
    match block {
        Block::Heading(level, text) => {
            let (tag, anchor) = outline.heading(*level, text, listed);
            format!("<{tag} id=\"{anchor}\">{}</{tag}>\n", inline::render(text))
        }
        Block::Paragraph(text) => format!("<p>{}</p>\n", inline::render(text)),
        Block::List(points) => {
            let points: String = points.iter().map(|point| format!("<li>{}</li>\n", inline::render(point))).collect();
            format!("<ul>\n{points}</ul>\n")
        }
        Block::Table { caption, table } => {
            format!("<figure class=\"table\">\n{}{}</figure>\n", captioned(caption), scrolling(&table.html()))
        }
        Block::Figure { svg, caption } => {
            format!("<figure class=\"chart\">\n{}{}</figure>\n", scrolling(svg), captioned(caption))
        }
        Block::Code(text) => format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(text)),
        Block::Details { summary, blocks } => {
            let (summary, blocks) = (inline::render(summary), render(blocks, outline, false));
            format!("<details>\n<summary>{summary}</summary>\n<div>\n{blocks}</div>\n</details>\n")
        }
    }
}

/// Wide content scrolls by itself on a narrow screen, also by keyboard.
fn scrolling(content: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\">\n{content}</div>\n")
}

fn captioned(caption: &str) -> String {
    match caption.trim() {
        "" => String::new(),
        text => format!("<figcaption>{}</figcaption>\n", inline::render(text)),
    }
}
