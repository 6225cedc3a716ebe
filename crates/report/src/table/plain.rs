//! A table as aligned text.

use unicode_width::UnicodeWidthStr;

use super::Table;
use crate::text::wrap;

/// Between two columns.
const GAP: usize = 2;
/// Columns of words are not made narrower than this.
const NARROW: usize = 10;

pub(super) fn render(table: &Table, width: usize) -> String {
    let columns = table.width();
    let head: Vec<String> = (0..columns).map(|column| clean(table.name(column))).collect();
    let cell =
        |row: &[super::Cell], column: usize| row.get(column).map(|cell| clean(&cell.words())).unwrap_or_default();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| (0..columns).map(|column| cell(row, column)).collect()).collect();
    let widths = widths(table, &head, &rows, width);
    let mut out = String::new();
    let named = head.iter().any(|name| !name.is_empty());
    if named {
        write_row(&mut out, table, &widths, &head);
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        out += &rule.join(&" ".repeat(GAP));
        out.push('\n');
    }
    // Where some row takes several lines, an empty line keeps rows apart.
    let tall = |row: &Vec<String>| row.iter().zip(&widths).any(|(text, width)| text.width() > *width);
    let airy = rows.iter().any(tall);
    for (index, row) in rows.iter().enumerate() {
        if airy && index > 0 {
            out.push('\n');
        }
        write_row(&mut out, table, &widths, row);
    }
    out
}

/// The width of each column: its widest cell, or less where the whole would be too wide. Columns of words give way
/// first, the widest of them first; then the others.
fn widths(table: &Table, head: &[String], rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let natural = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(head.get(column));
        cells.map(|text| text.width()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..head.len()).map(natural).collect();
    let room = width.saturating_sub(GAP * head.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let excess = widths.iter().sum::<usize>() - room;
        let can_shrink = |wordy: bool| {
            let columns = widths
                .iter()
                .enumerate()
                .filter(move |(column, width)| (!wordy || !table.numeric(*column)) && **width > NARROW);
            columns.max_by_key(|(column, width)| (**width, usize::MAX - column)).map(|(column, _)| column)
        };
        let Some(column) = can_shrink(true).or_else(|| can_shrink(false)) else { break };
        // Down to the next widest column of words, so that the widest share what is missing.
        let next = widths.iter().enumerate().filter(|(other, _)| *other != column && !table.numeric(*other));
        let next = next.map(|(_, width)| *width).filter(|width| *width < widths[column]).max().unwrap_or(0);
        let step = excess.min(widths[column] - next.max(NARROW)).max(1);
        widths[column] -= step;
    }
    widths
}

fn write_row(out: &mut String, table: &Table, widths: &[usize], row: &[String]) {
    let cells: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(text, width)| wrap(text, *width as f64, |part| part.width() as f64)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    for line in 0..height {
        let mut written = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let text = cell.get(line).map_or("", String::as_str);
            let space = " ".repeat(width.saturating_sub(text.width()));
            let gap = if column == 0 { "" } else { "  " };
            written +=
                &if table.numeric(column) { format!("{gap}{space}{text}") } else { format!("{gap}{text}{space}") };
        }
        out.push_str(written.trim_end());
        out.push('\n');
    }
}

/// Without control characters, which a terminal would obey.
fn clean(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column, Table};

    fn column(name: &str, numeric: bool) -> Column {
        Column { name: name.to_owned(), numeric }
    }

    fn claims() -> Table {
        Table {
            columns: vec![column("claim", false), column("measured", true), column("verdict", false)],
            rows: vec![
                vec![
                    Cell::Text("at most three messages for each entry on a star".to_owned()),
                    Cell::Estimate { mean: 2.97, half_width: 0.012 },
                    Cell::Verdict { good: true, text: "holds".to_owned() },
                ],
                vec![Cell::Code("reverse-link".to_owned()), Cell::Number(12.0)],
            ],
        }
    }

    #[test]
    fn columns_are_aligned_and_numbers_stand_to_the_right() {
        let expected = [
            "claim                                                 measured  verdict",
            "───────────────────────────────────────────────  ─────────────  ───────",
            "at most three messages for each entry on a star  2.970 ± 0.012  ✓ holds",
            "reverse-link                                                12",
        ];
        assert_eq!(claims().text(100).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn long_words_give_way_to_numbers_on_a_narrow_terminal() {
        let text = claims().text(50);
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        assert!(text.contains("2.970 ± 0.012"), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.contains(&"messages") && words.contains(&"star"), "{text}");
    }

    #[test]
    fn odd_tables_are_shown_too() {
        assert_eq!(Table::default().text(80), "");
        let ragged =
            Table { columns: vec![column("a", false)], rows: vec![vec![Cell::Empty, Cell::Number(1.0)], vec![]] };
        assert_eq!(ragged.text(80), "a\n─  ─\n   1\n\n");
        assert!(claims().text(0).contains("verdict"));
        let escape = Table { columns: vec![], rows: vec![vec![Cell::Text("\u{1b}[31mred".to_owned())]] };
        assert_eq!(escape.text(80), "[31mred\n");
    }
}
