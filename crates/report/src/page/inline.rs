//! The markup inside a line: `code` in backticks, and links. Everything else is text.

use crate::markup::escape;

pub(super) fn render(text: &str) -> String {
    pieces(text).into_iter().map(Piece::html).collect()
}

/// The text as it reads, without markup.
pub(super) fn plain(text: &str) -> String {
    let words = |piece: Piece<'_>| match piece {
        Piece::Text(text) | Piece::Code(text) => text.to_owned(),
        Piece::Link { text, .. } => plain(text),
    };
    pieces(text).into_iter().map(words).collect()
}

#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Code(&'a str),
    Link { text: &'a str, target: &'a str },
}

impl Piece<'_> {
    fn html(self) -> String {
        match self {
            Self::Text(text) => escape(text),
            Self::Code(text) => format!("<code>{}</code>", escape(text)),
            Self::Link { text, target } => {
                // The text of a link may hold code, but no link.
                let words = |piece: Piece<'_>| match piece {
                    Piece::Link { text, .. } => escape(text),
                    Piece::Text(_) | Piece::Code(_) => piece.html(),
                };
                let text: String = pieces(text).into_iter().map(words).collect();
                format!("<a href=\"{}\">{text}</a>", escape(target))
            }
        }
    }
}

/// Cuts a text at its markup. Markup that is not complete, or links elsewhere than allowed, is text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    // The part of the rest that is known to be text.
    let mut taken = 0;
    while let Some(at) = rest[taken..].find(['`', '[']).map(|at| at + taken) {
        match code(&rest[at..]).or_else(|| link(&rest[at..])) {
            Some((piece, length)) => {
                if at > 0 {
                    pieces.push(Piece::Text(&rest[..at]));
                }
                pieces.push(piece);
                rest = &rest[at + length..];
                taken = 0;
            }
            None => taken = at + 1,
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// Code at the start of the text, and how much of the text it takes.
fn code(text: &str) -> Option<(Piece<'_>, usize)> {
    let inner = text.strip_prefix('`')?;
    let end = inner.find('`').filter(|end| *end > 0)?;
    Some((Piece::Code(&inner[..end]), end + 2))
}

/// A link at the start of the text, and how much of the text it takes. The target may hold balanced parentheses.
fn link(text: &str) -> Option<(Piece<'_>, usize)> {
    let inner = text.strip_prefix('[')?;
    let middle = inner.find(']').filter(|middle| *middle > 0)?;
    let after = inner[middle + 1..].strip_prefix('(')?;
    let mut depth = 0_usize;
    let end = after.find(|character| match character {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth > 0 => {
            depth -= 1;
            false
        }
        ')' => true,
        _ => false,
    })?;
    let target = &after[..end];
    let allowed = target.starts_with('#') || target.starts_with("https://");
    let whole = !target.contains(|character: char| character.is_whitespace() || character.is_control());
    (allowed && whole).then_some((Piece::Link { text: &inner[..middle], target }, 1 + middle + 2 + end + 1))
}

#[cfg(test)]
mod tests {
    use super::{plain, render};

    #[test]
    fn code_and_links_are_marked_and_everything_else_is_text() {
        let cases = [
            ("a `b<c` d", "a <code>b&lt;c</code> d"),
            (
                "see [errata](#p4) and [x](https://e.org/a_(b)?c&d).",
                "see <a href=\"#p4\">errata</a> and <a href=\"https://e.org/a_(b)?c&amp;d\">x</a>.",
            ),
            ("[`code`](#a)", "<a href=\"#a\"><code>code</code></a>"),
            ("[bad](javascript:alert(1))", "[bad](javascript:alert(1))"),
            ("[bad](http://e.org)", "[bad](http://e.org)"),
            ("[quote](https://e.org/\"onclick=\")", "<a href=\"https://e.org/&quot;onclick=&quot;\">quote</a>"),
            ("[open](#a", "[open](#a"),
            ("lone ` tick and [10, 20]", "lone ` tick and [10, 20]"),
            ("nothing in ``", "nothing in ``"),
            ("[a] then [b](#b)", "[a] then <a href=\"#b\">b</a>"),
            ("<script>", "&lt;script&gt;"),
            ("é[ü](#ö)`ß`", "é<a href=\"#ö\">ü</a><code>ß</code>"),
        ];
        for (text, expected) in cases {
            assert_eq!(render(text), expected, "{text}");
        }
        assert_eq!(plain("the `group` [errata](#x)"), "the group errata");
    }
}
