//! All findings as a table and as a page.
//!
//! Nothing here depends on the machine or on the time a measurement took: the same claims, measured with the same
//! effort by the same code, give the same page.

use meshlock_report::page::{Block, Page};
use meshlock_report::table::{Cell, Column as Head, Table};

use crate::claim::{Claim, Evidence, Finding};
use crate::lab::Effort;
use crate::verdict::{Column, Conclusion, Text, Verdict};

#[derive(Clone)]
pub struct Measured {
    pub claim: Claim,
    pub finding: Finding,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method<'a> {
    pub effort: Effort,
    pub code_version: &'a str,
    pub command: &'a str,
    /// Claims that should have been measured but were not, because it was ended early or their measurement failed.
    pub missing: Vec<&'static str>,
}

impl Measured {
    /// What all texts together mean for the claim.
    pub fn conclusion(&self) -> Conclusion {
        self.claim.conclusion(&self.finding)
    }

    pub fn surprises(&self) -> Vec<String> {
        self.claim.surprises(&self.finding)
    }

    fn cell(&self) -> Cell {
        let conclusion = self.conclusion();
        if self.surprises().is_empty() {
            Cell::Verdict { good: conclusion.is_good(), text: conclusion.words() }
        } else {
            Cell::Verdict { good: false, text: format!("{}; not as expected", conclusion.words()) }
        }
    }

    fn texts(&self, of_kind: impl Fn(&Text) -> bool) -> Cell {
        let columns: Vec<&Column> = self.finding.columns.iter().filter(|column| of_kind(&column.text)).collect();
        let word = |column: &&Column| {
            let word = self.claim.verdict(column).words();
            match &column.text {
                Text::Printed | Text::Repaired => word.to_owned(),
                Text::With(name) | Text::Other(name) => format!("{name}: {word}"),
            }
        };
        if columns.is_empty() {
            return Cell::Empty;
        }
        let good = columns.iter().all(|column| is_good(self.claim.verdict(column)));
        Cell::Verdict { good, text: columns.iter().map(word).collect::<Vec<_>>().join("; ") }
    }
}

const fn is_good(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Holds | Verdict::Measured)
}

/// A row for each claim: id, claim, a word for each text, measured, conclusion.
pub fn table(measured: &[Measured]) -> Table {
    let row = |one: &Measured| {
        let text = |text: &str| Cell::Text(text.to_owned());
        vec![
            Cell::Code(one.claim.id.to_owned()),
            text(one.claim.says),
            one.texts(|text| matches!(text, Text::Printed | Text::Other(_))),
            one.texts(|text| matches!(text, Text::With(_))),
            one.texts(|text| *text == Text::Repaired),
            text(&one.finding.measured),
            one.cell(),
        ]
    };
    let columns = ["id", "claim", "printed", "with repairs", "repaired", "measured", "so it"];
    Table { columns: columns.map(head).to_vec(), rows: measured.iter().map(row).collect() }
}

fn head(name: &str) -> Head {
    Head { name: name.to_owned(), numeric: false }
}

/// Everything: how it was measured, a summary, where the papers are wrong, and each claim with its evidence.
pub fn page(measured: &[Measured], method: &Method<'_>) -> Page {
    let mut blocks = Vec::new();
    surprises(measured, method, &mut blocks);
    heading(&mut blocks, 1, "Methods");
    methods(method, &mut blocks);
    heading(&mut blocks, 1, "All claims");
    blocks.push(Block::Table { caption: String::new(), table: table(measured) });
    wrong(measured, &mut blocks);
    let mut paper = "";
    for one in measured {
        if paper != paper_of(one.claim.id) {
            paper = paper_of(one.claim.id);
            heading(&mut blocks, 1, paper);
        }
        section(one, &mut blocks);
    }
    Page { title: "What the papers claim, measured".to_owned(), subtitle: tally(measured, method), blocks }
}

fn tally(measured: &[Measured], method: &Method<'_>) -> String {
    let count = |is: &dyn Fn(&Conclusion) -> bool| measured.iter().filter(|one| is(&one.conclusion())).count();
    let mut parts = vec![
        format!("{} hold as printed", count(&|all| *all == Conclusion::Holds)),
        format!("{} with named repairs", count(&|all| matches!(all, Conclusion::With(_)))),
        format!("{} only repaired", count(&|all| *all == Conclusion::OnlyRepaired)),
        format!("{} wrong", count(&|all| *all == Conclusion::Wrong)),
    ];
    let open = count(&|all| *all == Conclusion::Open);
    if open > 0 {
        parts.push(format!("{open} not decided"));
    }
    parts.push(format!("{} measured", count(&|all| *all == Conclusion::Measured)));
    let state = if method.missing.is_empty() { "" } else { "; not complete" };
    format!("{} claims: {}; meshlock {}{state}", measured.len(), parts.join(", "), method.code_version)
}

/// What is not as it should be comes first.
fn surprises(measured: &[Measured], method: &Method<'_>, blocks: &mut Vec<Block>) {
    let tell = |one: &Measured| {
        let all = one.surprises();
        (!all.is_empty()).then(|| format!("{} is not as expected: {}", link(one.claim.id), all.join("; ")))
    };
    let mut points: Vec<String> = measured.iter().filter_map(tell).collect();
    points.extend(method.missing.iter().map(|id| format!("{id} was not measured.")));
    if !points.is_empty() {
        heading(blocks, 1, "Read this first");
        blocks.push(Block::List(points));
    }
}

fn methods(method: &Method<'_>, blocks: &mut Vec<Block>) {
    let effort = match method.effort {
        Effort::Test => "the least effort, which only shows that everything can be measured",
        Effort::Quick => "little effort: few replications and small networks, so intervals are wide",
        Effort::Full => "full effort",
    };
    blocks.push(Block::Paragraph(format!(
        "Every claim is measured by simulated runs of the protocols themselves, of the same code that a node runs and \
         the checker explores. This page was made with {effort}. Each point is run with the seeds 1, 2, 3 and so on, the \
         same for all points (common random numbers). Intervals are of 95 %: of means over runs by Student's t (given with \
         ±), of medians between order statistics, of shares by Wilson. Which rules of a protocol hold is watched in every \
         run. A scenario and a seed give the same run on every machine, so the numbers of this page depend on the code \
         alone: meshlock {}.",
        method.code_version
    )));
    blocks.push(Block::Paragraph(
        "A claim is written as bounds on numbers, and these numbers are measured for each text by itself: printed (to the \
         letter), printed with named repairs (of the errata), repaired (as a node runs it). A text holds if every number \
         is within its bounds with all of its interval, fails if one is outside, and is not decided in between. It is not \
         measured if it did not run far enough; then it says how its runs ended. A claim holds if the printed text does; \
         else the first text that does names it; it is wrong if none does; and it is measured where the paper gives no \
         number. What is expected was written down before the measurement: a finding that is not as expected means that \
         something has changed."
            .to_owned(),
    ));
    blocks.push(Block::Paragraph("To measure all of this again:".to_owned()));
    blocks.push(Block::Code(method.command.to_owned()));
}

fn wrong(measured: &[Measured], blocks: &mut Vec<Block>) {
    heading(blocks, 1, "Where the papers are wrong");
    let point = |one: &Measured| {
        let (claim, finding) = (&one.claim, &one.finding);
        let why: Vec<String> = finding
            .columns
            .iter()
            .filter(|column| claim.verdict(column) != Verdict::Holds)
            .map(|column| format!("{} ({})", column.text, column.reason(claim.demands)))
            .collect();
        format!(
            "{} ({}): {} Not so: {}.",
            link(claim.id),
            one.conclusion().words(),
            sentence(claim.says),
            why.join("; ")
        )
    };
    let points: Vec<String> = measured.iter().filter(|one| !one.conclusion().is_good()).map(point).collect();
    if points.is_empty() {
        blocks.push(Block::Paragraph("Nowhere, as far as these claims go.".to_owned()));
    } else {
        blocks.push(Block::List(points));
    }
}

fn section(one: &Measured, blocks: &mut Vec<Block>) {
    let Measured { claim, finding } = one;
    heading(blocks, 2, claim.id);
    blocks.push(Block::Paragraph(sentence(claim.says)));
    let facts = Table {
        columns: Vec::new(),
        rows: [
            ("how", Cell::Text(claim.how.to_owned())),
            ("expected", Cell::Text(claim.expected.to_owned())),
            ("measured", Cell::Text(finding.measured.clone())),
            ("so it", one.cell()),
        ]
        .map(|(name, cell)| vec![Cell::Text(name.to_owned()), cell])
        .to_vec(),
    };
    blocks.push(Block::Table { caption: String::new(), table: facts });
    if !finding.columns.is_empty() {
        let caption = "What is claimed, and what each text has shown".to_owned();
        blocks.push(Block::Table { caption, table: by_text(one) });
    }
    if !finding.checks.is_empty() {
        let mark = |holds: bool| if holds { "so" } else { "NOT so" };
        let points = finding.checks.iter().map(|check| format!("{}: {}", mark(check.holds), check.what)).collect();
        blocks.push(Block::Paragraph("Expected besides:".to_owned()));
        blocks.push(Block::List(points));
    }
    blocks.extend(finding.evidence.iter().cloned().map(|evidence| match evidence {
        Evidence::Table(caption, table) => Block::Table { caption, table },
        Evidence::Figure(caption, svg) => Block::Figure { svg, caption },
        Evidence::Note(text) => Block::Paragraph(text),
    }));
}

/// A row for each number that is demanded or told, a column for each text; the verdicts last.
fn by_text(one: &Measured) -> Table {
    let Measured { claim, finding } = one;
    let mut names: Vec<&str> = claim.demands.iter().map(|demand| demand.fact).collect();
    for fact in finding.columns.iter().flat_map(|column| &column.facts) {
        if !names.contains(&fact.name) {
            names.push(fact.name);
        }
    }
    let row = |name: &&str| {
        let demand = claim.demands.iter().find(|demand| demand.fact == *name);
        let shown = |column: &Column| {
            let fact = column.facts.iter().find(|fact| fact.name == *name && fact.value.is_finite());
            fact.map_or(Cell::Empty, |fact| Cell::Text(fact.to_string()))
        };
        let mut row = vec![Cell::Text((*name).to_owned())];
        row.push(demand.map_or(Cell::Empty, |demand| Cell::Text(demand.to_string())));
        row.extend(finding.columns.iter().map(shown));
        row
    };
    let mut rows: Vec<Vec<Cell>> = names.iter().map(row).collect();
    let runs = |column: &Column| {
        let ended = column.runs.to_string();
        let all = format!("{} runs", column.runs.all);
        Cell::Text(if ended.is_empty() { all } else { ended })
    };
    let mut ended = vec![Cell::Text("how runs ended".to_owned()), Cell::Empty];
    ended.extend(finding.columns.iter().map(runs));
    rows.push(ended);
    let verdict = |column: &Column| {
        let verdict = claim.verdict(column);
        Cell::Verdict { good: is_good(verdict), text: verdict.words().to_owned() }
    };
    let mut verdicts = vec![Cell::Text("verdict".to_owned()), Cell::Empty];
    verdicts.extend(finding.columns.iter().map(verdict));
    rows.push(verdicts);
    let mut columns = vec![head(""), head("claimed")];
    columns.extend(finding.columns.iter().map(|column| head(&column.text.to_string())));
    Table { columns, rows }
}

/// By the letters before the number.
fn paper_of(id: &str) -> &'static str {
    match id.split_once('-') {
        Some(("J", _)) => "Prioritized h-out-of-k mutual exclusion (Jiang)",
        Some(("P", _)) => "Mutual exclusion by flooding (PSAR report)",
        Some(("S4", _)) => "Prioritized group mutual exclusion (Swaroop and Singh)",
        Some(_) | None => "Other claims",
    }
}

/// To the section of a claim.
fn link(id: &str) -> String {
    format!("[{id}](#{})", id.to_lowercase())
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn heading(blocks: &mut Vec<Block>, level: u8, text: &str) {
    blocks.push(Block::Heading(level, text.to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::check;
    use crate::verdict::{Demand, Fact, Runs, none};

    const DEMANDS: &[Demand] = &[none("stuck")];
    const EXPECTS: &[(&str, Option<Verdict>)] =
        &[("printed", Some(Verdict::Fails)), ("repaired", Some(Verdict::Holds))];

    /// The printed text leaves so many waiting, the repaired one none.
    fn measured(id: &'static str, stuck: f64) -> Measured {
        let column = |text, stuck| Column::new(text, Runs::default(), vec![Fact::exact("stuck", stuck)]);
        let of_size = Table { columns: vec![head("n")], rows: vec![vec![Cell::Number(12.0)]] };
        let finding = Finding {
            columns: vec![column(Text::Printed, stuck), column(Text::Repaired, 0.0)],
            measured: "3.00 ± 0.01".to_owned(),
            checks: vec![check("somebody enters", true)],
            evidence: vec![
                Evidence::Table("By size".to_owned(), of_size),
                Evidence::Figure("Drawn".to_owned(), "<svg></svg>".to_owned()),
                Evidence::Note("A remark.".to_owned()),
            ],
        };
        let claim = Claim {
            id,
            says: "Nobody is stuck",
            demands: DEMANDS,
            how: "A star of 10",
            expected: "some are",
            expects: EXPECTS,
            measure: |_| Finding::default(),
        };
        Measured { claim, finding }
    }

    fn method() -> Method<'static> {
        Method { effort: Effort::Quick, code_version: "1.2.3", command: "meshlock reproduce --quick", missing: vec![] }
    }

    #[test]
    fn the_table_has_a_row_for_each_claim_and_a_word_for_each_text() {
        let text = table(&[measured("J-1", 4.0), measured("S4-2", 0.0)]).text(160);
        for part in ["J-1", "Nobody is stuck", "✗ fails", "3.00 ± 0.01", "✗ only repaired", "✓ holds"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.contains("not as"), "the second one was expected to fail\n{text}");
    }

    #[test]
    fn the_page_has_everything_once() {
        let html = page(&[measured("J-1", 4.0), measured("J-2", 7.0), measured("P-1", 0.0)], &method()).html();
        for part in [
            "3 claims: 1 hold as printed, 0 with named repairs, 2 only repaired, 0 wrong, 0 measured",
            "meshlock 1.2.3",
            "little effort",
            "meshlock reproduce --quick",
            "Where the papers are wrong",
            "href=\"#j-2\"",
            "id=\"j-2\"",
            "stuck: 4, claimed 0",
            "Read this first",
            "printed holds, expected: fails",
            "so: somebody enters",
            "<svg></svg>",
            "A remark.",
            "By size",
            "(Jiang)",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        let wrong = html.split("Where the papers are wrong</h").nth(1).unwrap();
        let wrong = wrong.split("</ul>").next().unwrap();
        assert!(wrong.contains("J-1") && wrong.contains("J-2") && !wrong.contains("P-1"), "{wrong}");
    }

    #[test]
    fn a_page_of_nothing_is_a_page() {
        let page = page(&[], &Method { missing: vec!["J-9"], ..method() });
        assert!(page.subtitle.contains("not complete"));
        let html = page.html();
        assert!(html.contains("J-9 was not measured") && html.contains("Nowhere, as far"), "{html}");
    }
}
