//! Claims and findings for programs. Fields are only ever added.

use meshlock_report::table::{Cell, Table};
use meshlock_reproduce::page::{Measured, Method};
use meshlock_reproduce::verdict::Runs;
use meshlock_reproduce::{Check, Claim, Column, Effort, Evidence, Fact};
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
pub(super) struct Claims<'a> {
    code_version: &'a str,
    effort: Effort,
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
    /// Of the claim: `holds`, `only with` and repairs, `only repaired`, `wrong`, `not decided` or `measured`.
    verdict: String,
    /// What each text has shown.
    texts: Vec<TextJson<'a>>,
    as_expected: bool,
    surprises: Vec<String>,
    checks: &'a [Check],
    tables: Vec<Value>,
    notes: Vec<&'a str>,
}

#[derive(Serialize)]
struct TextJson<'a> {
    text: String,
    /// `holds`, `fails`, `not decided`, `not measured` or `measured`.
    verdict: &'static str,
    reason: String,
    #[serde(flatten)]
    runs: Runs,
    /// Numbers with their intervals; null where they are not finite.
    facts: &'a [Fact],
}

#[derive(Serialize)]
pub(super) struct Listed<'a> {
    id: &'a str,
    says: &'a str,
    /// The same as bounds on numbers, in words.
    claimed: Vec<String>,
    how: &'a str,
    expected: &'a str,
}

impl<'a> Claims<'a> {
    /// All findings. Figures are left out: they are drawn from tables, or from the same runs.
    pub(super) fn of(measured: &'a [Measured], method: &'a Method<'_>) -> Self {
        Self {
            code_version: method.code_version,
            effort: method.effort,
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
            verdict: one.conclusion().words(),
            texts: finding.columns.iter().map(|column| text_json(&one.claim, column)).collect(),
            as_expected: one.surprises().is_empty(),
            surprises: one.surprises(),
            checks: &finding.checks,
            tables,
            notes,
        }
    }
}

impl From<&Claim> for Listed<'static> {
    fn from(claim: &Claim) -> Self {
        let Claim { id, says, how, expected, .. } = *claim;
        let claimed = claim.demands.iter().map(|demand| format!("{}: {demand}", demand.fact)).collect();
        Self { id, says, claimed, how, expected }
    }
}

fn text_json<'a>(claim: &Claim, column: &'a Column) -> TextJson<'a> {
    TextJson {
        text: column.text.to_string(),
        verdict: claim.verdict(column).words(),
        reason: column.reason(claim.demands),
        runs: column.runs,
        facts: &column.facts,
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
