//! A table as HTML.

use super::{Cell, Table};
use crate::markup::escape;

pub(super) fn render(table: &Table) -> String {
    let columns = table.width();
    let class = |column: usize| if table.numeric(column) { " class=\"number\"" } else { "" };
    let mut out = String::from("<table>\n<thead><tr>");
    for column in 0..columns {
        out += &format!("<th scope=\"col\"{}>{}</th>", class(column), escape(table.name(column)));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        out += "<tr>";
        for column in 0..columns {
            let content = row.get(column).map(cell).unwrap_or_default();
            out += &format!("<td{}>{content}</td>", class(column));
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table>\n"
}

fn cell(cell: &Cell) -> String {
    let words = escape(&cell.words());
    match cell {
        Cell::Verdict { good, .. } => {
            // The sign stays with the first word.
            let (class, words) = (if *good { "good" } else { "bad" }, words.replacen(' ', "\u{a0}", 1));
            format!("<span class=\"verdict {class}\">{words}</span>")
        }
        Cell::Code(_) => format!("<code>{words}</code>"),
        Cell::Text(_) | Cell::Number(_) | Cell::Estimate { .. } | Cell::Empty => words,
    }
}
