//! The few colours there are, by what they mean. Streams of `anstream` leave them out where they are not wanted.

use std::fmt::{self, Display};

use anstyle::AnsiColor;
pub use anstyle::Style;

/// An unexpected failure.
pub const ALARM: Style = AnsiColor::Red.on_default().bold();
/// The word before an error message.
pub const ERROR: Style = ALARM;
/// As it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// A rule is broken, as it was known to be.
pub const KNOWN: Style = AnsiColor::Cyan.on_default();
/// Not the whole answer.
pub const PARTIAL: Style = AnsiColor::Yellow.on_default();
/// What leads the eye.
pub const STRONG: Style = Style::new().bold();
/// What can be passed over.
pub const FAINT: Style = Style::new().dimmed();

pub fn styled<T: Display>(style: Style, text: T) -> Styled<T> {
    Styled { style, text }
}

/// See [`styled`]. Widths and alignment apply to the text alone.
pub struct Styled<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style)?;
        self.text.fmt(f)?;
        write!(f, "{:#}", self.style)
    }
}
