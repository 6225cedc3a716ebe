//! Claims and findings for programs. Fields are only ever added.

use meshlock_report::table::{Cell, Table};
use meshlock_reproduce::page::{Measured, Method};
use meshlock_reproduce::{Claim, Effort, Evidence};
use serde::Serialize;
use serde_json::{Value, json};

/// `claims.json`.
#[derive(Serialize)]
pub(super) struct Claims<'a> {
    code_version: &'a str,
    effort: &'static str,
    command: &'a str,
    complete: bool,
    missing: &'a [&'static str],
    claims: Vec<ClaimJson<'a>>,
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    #[serde(flatten)]
    claim: Listed<'a>,
    measured: &'a str,
    /// `holds`, `only repaired`, `wrong` or `measured`.
    verdict: &'static str,
    as_expected: bool,
    tables: Vec<Value>,
    notes: Vec<&'a str>,
}

/// A claim in a list.
#[derive(Serialize)]
pub(super) struct Listed<'a> {
    id: &'a str,
    says: &'a str,
    how: &'a str,
    expected: &'a str,
}

impl<'a> Claims<'a> {
    /// All findings. Figures are left out: they are drawn from tables, or from the same runs.
    pub(super) fn of(measured: &'a [Measured], method: &'a Method<'_>) -> Self {
        Self {
            code_version: method.code_version,
            effort: match method.effort {
                Effort::Test => "test",
                Effort::Quick => "quick",
                Effort::Full => "full",
            },
            command: method.command,
            complete: method.missing.is_empty(),
            missing: &method.missing,
            claims: measured.iter().map(ClaimJson::from).collect(),
        }
    }
}

impl<'a> From<&'a Measured> for ClaimJson<'a> {
    fn from(one: &'a Measured) -> Self {
        let finding = &one.finding;
        let (mut tables, mut notes) = (Vec::new(), Vec::new());
        for evidence in &finding.evidence {
            match evidence {
                Evidence::Table(caption, table) => tables.push(table_json(caption, table)),
                Evidence::Figure(..) => {}
                Evidence::Note(text) => notes.push(text.as_str()),
            }
        }
        Self {
            claim: Listed::from(&one.claim),
            measured: &finding.measured,
            verdict: finding.verdict.words(),
            as_expected: finding.as_expected,
            tables,
            notes,
        }
    }
}

impl From<&Claim> for Listed<'static> {
    fn from(claim: &Claim) -> Self {
        let Claim { id, says, how, expected, .. } = *claim;
        Self { id, says, how, expected }
    }
}

fn table_json(caption: &str, table: &Table) -> Value {
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) | Cell::Code(text) | Cell::Verdict { text, .. } => json!(text),
        Cell::Number(number) => json!(number),
        Cell::Estimate { mean, half_width } => json!({ "mean": mean, "half_width": half_width }),
        Cell::Empty => Value::Null,
    };
    let rows: Vec<Vec<Value>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    json!({ "caption": caption, "columns": columns, "rows": rows })
}
