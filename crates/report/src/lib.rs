//! Charts as SVG and self-contained HTML pages: pure functions from data to text, no input and no output.
//!
//! - [`chart`]: lines with error bars, and bars, as SVG that prints in black and white and follows dark mode;
//! - [`table`]: tables for pages and, as aligned text, for terminals;
//! - [`page`]: one HTML file without external resources;
//! - [`shell`]: commands to copy.
//!
//! The SVG is written by hand, because the SVG backend of the `plotters` crate rounds to whole pixels, knows neither
//! tooltips nor style classes (so no dark mode), and its legend lies over the data.
//!
//! The same data always give the same text. All text given is escaped; numbers that are not finite are left out.

pub mod chart;
mod markup;
mod number;
pub mod page;
pub mod shell;
pub mod table;
mod text;

/// The style sheet that all pages of meshlock begin with: colours for light and dark screens as custom properties, type,
/// tables, and the classes of charts. It needs nothing else and loads nothing.
pub const THEME: &str = include_str!("theme.css");
