//! The report on a terminal.

use std::io::Write;

use meshlock_report::table::{Cell, Column, Table};

use super::figures::{Figure, Report};
use meshlock_cli::output::table_width;
use meshlock_cli::style::{self, styled};

pub(super) fn print(report: &Report) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{} on {} cores", styled(style::STRONG, &report.command), report.cores)?;
    if !report.optimised {
        let warning = "This program was not compiled for speed: use a release build.";
        writeln!(out, "{}", styled(style::PARTIAL, warning))?;
    }
    writeln!(out)?;
    let times = Table {
        columns: columns(&[
            ("us", false),
            ("median", true),
            ("99 %", true),
            ("floor", true),
            ("x", true),
            ("goal", false),
        ]),
        rows: report.times.iter().map(row).collect(),
    };
    show(&mut out, &times)?;
    let rate = |figure: &super::figures::Throughput| {
        vec![
            Cell::Text(format!("{}, {}", figure.topology, figure.way)),
            Cell::Text(figure.clients.to_string()),
            Cell::Text(format!("{:.0}", figure.entries_per_s)),
            Cell::Text(format!("{:.3}", figure.hops_per_entry)),
        ]
    };
    let throughput = Table {
        columns: columns(&[("5 nodes", false), ("clients", true), ("entries/s", true), ("token hops/entry", true)]),
        rows: report.throughput.iter().map(rate).collect(),
    };
    show(&mut out, &throughput)?;
    let idle = &report.idle;
    write!(out, "  idle node, {} resources, {} neighbours: ", idle.resources, idle.neighbours)?;
    write!(out, "{:.2} ms of processor time per second", idle.cpu_ms_per_s)?;
    if let Some(bytes) = idle.bytes_per_resource {
        write!(out, ", {bytes:.0} bytes of memory per resource")?;
    }
    writeln!(out)?;
    Ok(out.flush()?)
}

fn row(figure: &Figure) -> Vec<Cell> {
    let mut cells = vec![Cell::Text(figure.name.clone()), us(figure.median_us), us(figure.most_us)];
    match &figure.floor {
        Some(floor) => cells.extend([us(floor.us), Cell::Text(format!("{:.1}", floor.ratio))]),
        None => cells.extend([Cell::Empty, Cell::Empty]),
    }
    cells.push(match &figure.goal {
        Some(goal) => {
            let word = if goal.is_met { "met" } else { "missed" };
            Cell::Verdict { good: goal.is_met, text: format!("{word}: {}", goal.name) }
        }
        None => Cell::Empty,
    });
    cells
}

fn us(us: f64) -> Cell {
    Cell::Text(if us < 10.0 { format!("{us:.2}") } else { format!("{us:.1}") })
}

fn columns(names: &[(&str, bool)]) -> Vec<Column> {
    names.iter().map(|(name, numeric)| Column { name: (*name).to_owned(), numeric: *numeric }).collect()
}

fn show(out: &mut impl Write, table: &Table) -> std::io::Result<()> {
    for line in table.text(table_width()).lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)
}
