//! Tables: the same cells for a page and, as aligned text, for a terminal.

mod html;
mod plain;

use crate::number;

/// Rows under named columns. A row may be shorter or longer than the list of columns: what is missing is empty, what
/// is too much stands under an empty name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Numbers, aligned to the right.
    pub numeric: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    /// A number, shown with four significant digits, or in full if it is whole.
    Number(f64),
    /// A mean with the half width of its interval, shown as `12.3 ± 0.4`.
    Estimate {
        mean: f64,
        /// Half of the interval around it.
        half_width: f64,
    },
    /// A judgement, marked by a sign and by colour.
    Verdict {
        /// Whether it is good news.
        good: bool,
        text: String,
    },
    /// Something to type or to look up.
    Code(String),
    Empty,
}

impl Table {
    /// The table as text for a terminal of this width: columns aligned, long words in cells wrapped. It is wider only
    /// if the columns have no room left to give.
    pub fn text(&self, width: usize) -> String {
        plain::render(self, width)
    }

    pub(crate) fn html(&self) -> String {
        html::render(self)
    }

    /// How many columns there are, named or not.
    fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).chain([self.columns.len()]).max().unwrap_or(0)
    }

    /// The name of a column; empty beyond the named ones.
    fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |column| &column.name)
    }

    fn numeric(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|column| column.numeric)
    }
}

impl Cell {
    fn words(&self) -> String {
        match self {
            Self::Text(text) | Self::Code(text) => text.clone(),
            Self::Number(value) => number::number(*value),
            Self::Estimate { mean, half_width } => number::estimate(*mean, *half_width),
            Self::Verdict { good, text } => format!("{} {text}", if *good { '✓' } else { '✗' }).trim_end().to_owned(),
            Self::Empty => String::new(),
        }
    }
}
