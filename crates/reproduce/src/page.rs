//! All findings as a table and as a page.
//!
//! Nothing here depends on the machine or on the time a measurement took: the same claims, measured with the same
//! effort by the same code, give the same page.

use meshlock_report::page::{Block, Page};
use meshlock_report::table::{Cell, Column, Table};

use crate::claim::{Claim, Evidence, Finding, Verdict};
use crate::lab::Effort;

/// A claim that was measured.
#[derive(Clone)]
pub struct Measured {
    /// What was claimed.
    pub claim: Claim,
    /// What came out.
    pub finding: Finding,
}

/// How everything was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method<'a> {
    /// How much.
    pub effort: Effort,
    /// By which code.
    pub code_version: &'a str,
    /// The command that measures it again.
    pub command: &'a str,
    /// Claims that should have been measured but were not, because it was ended early or their measurement failed.
    pub missing: Vec<&'static str>,
}

impl Measured {
    /// The verdict as a cell.
    fn cell(&self) -> Cell {
        let verdict = self.finding.verdict;
        if self.finding.as_expected {
            Cell::Verdict { good: verdict.is_good(), text: verdict.words().to_owned() }
        } else {
            Cell::Verdict { good: false, text: format!("{}, which was not expected", verdict.words()) }
        }
    }
}

/// A row for each claim: id, claim, expected, measured, verdict.
pub fn table(measured: &[Measured]) -> Table {
    let column = |name: &str| Column { name: name.to_owned(), numeric: false };
    let row = |one: &Measured| {
        let text = |text: &str| Cell::Text(text.to_owned());
        let Claim { id, says, expected, .. } = one.claim;
        vec![Cell::Code(id.to_owned()), text(says), text(expected), text(&one.finding.measured), one.cell()]
    };
    let columns = ["id", "claim", "expected", "measured", "verdict"].map(column).to_vec();
    Table { columns, rows: measured.iter().map(row).collect() }
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

/// How many there are of each verdict.
fn tally(measured: &[Measured], method: &Method<'_>) -> String {
    let all = [Verdict::Holds, Verdict::HoldsRepaired, Verdict::Wrong, Verdict::Measured];
    let count = |verdict| measured.iter().filter(|one| one.finding.verdict == verdict).count();
    let parts: Vec<String> = all.into_iter().map(|verdict| format!("{} {}", count(verdict), verdict.words())).collect();
    let state = if method.missing.is_empty() { "" } else { "; not complete" };
    format!("{} claims: {}; meshlock {}{state}", measured.len(), parts.join(", "), method.code_version)
}

/// What is not as it should be comes first.
fn surprises(measured: &[Measured], method: &Method<'_>, blocks: &mut Vec<Block>) {
    let unexpected = measured.iter().filter(|one| !one.finding.as_expected);
    let mut points: Vec<String> =
        unexpected.map(|one| format!("{} is not as expected: {}", link(one.claim.id), one.finding.measured)).collect();
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
         the checker explores; the texts as printed are run beside the repaired ones. This page was made with {effort}. \
         Each point is run with the seeds 1, 2, 3 and so on, the same for all points (common random numbers). Means are \
         over runs, with 95 % intervals by Student's t where ± or an interval is given. Which rules of a protocol hold is \
         watched in every run. A scenario and a seed give the same run on every machine, so the numbers of this page \
         depend on the code alone: meshlock {}.",
        method.code_version
    )));
    blocks.push(Block::Paragraph(
        "A claim holds if the printed text does what it says; it holds only repaired if the printed text does not, but the \
         repaired one does; it is wrong if no text does; and it is measured where the paper gives no number. What is \
         expected was written down before the measurement: a finding that is not as expected means that something has \
         changed."
            .to_owned(),
    ));
    blocks.push(Block::Paragraph("To measure all of this again:".to_owned()));
    blocks.push(Block::Code(method.command.to_owned()));
}

fn wrong(measured: &[Measured], blocks: &mut Vec<Block>) {
    heading(blocks, 1, "Where the papers are wrong");
    let point = |one: &Measured| {
        let (claim, finding) = (&one.claim, &one.finding);
        format!(
            "{} ({}): {} Measured: {}",
            link(claim.id),
            finding.verdict.words(),
            sentence(claim.says),
            finding.measured
        )
    };
    let points: Vec<String> = measured.iter().filter(|one| !one.finding.verdict.is_good()).map(point).collect();
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
            ("verdict", one.cell()),
        ]
        .map(|(name, cell)| vec![Cell::Text(name.to_owned()), cell])
        .to_vec(),
    };
    blocks.push(Block::Table { caption: String::new(), table: facts });
    blocks.extend(finding.evidence.iter().cloned().map(|evidence| match evidence {
        Evidence::Table(caption, table) => Block::Table { caption, table },
        Evidence::Figure(caption, svg) => Block::Figure { svg, caption },
        Evidence::Note(text) => Block::Paragraph(text),
    }));
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
    use crate::lab::Lab;

    fn finding(verdict: Verdict, as_expected: bool) -> Finding {
        let column = Column { name: "n".to_owned(), numeric: true };
        let table = Table { columns: vec![column], rows: vec![vec![Cell::Number(12.0)]] };
        let evidence = vec![
            Evidence::Table("By size".to_owned(), table),
            Evidence::Figure("Drawn".to_owned(), "<svg></svg>".to_owned()),
            Evidence::Note("A remark.".to_owned()),
        ];
        Finding { measured: "3.00 ± 0.01".to_owned(), verdict, as_expected, evidence }
    }

    fn measured(id: &'static str, verdict: Verdict, as_expected: bool) -> Measured {
        let measure = |_: &Lab| Finding {
            measured: String::new(),
            verdict: Verdict::Measured,
            as_expected: true,
            evidence: Vec::new(),
        };
        let claim =
            Claim { id, says: "At most three messages", how: "A star of 10", expected: "3, as on paper", measure };
        Measured { claim, finding: finding(verdict, as_expected) }
    }

    fn method() -> Method<'static> {
        Method { effort: Effort::Quick, code_version: "1.2.3", command: "meshlock reproduce --quick", missing: vec![] }
    }

    #[test]
    fn the_table_has_a_row_for_each_claim() {
        let text = table(&[measured("J-1", Verdict::Holds, true), measured("S4-2", Verdict::Wrong, false)]).text(120);
        for part in ["J-1", "At most three messages", "3, as on paper", "3.00 ± 0.01", "✓ holds"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.contains("✗ wrong, which was not"), "{text}");
    }

    #[test]
    fn the_page_has_everything_once() {
        let all = [
            measured("J-1", Verdict::Holds, true),
            measured("J-2", Verdict::HoldsRepaired, true),
            measured("P-1", Verdict::Wrong, false),
        ];
        let html = page(&all, &method()).html();
        for part in [
            "3 claims: 1 holds, 1 only repaired, 1 wrong, 0 measured",
            "meshlock 1.2.3",
            "little effort",
            "meshlock reproduce --quick",
            "Where the papers are wrong",
            "href=\"#j-2\"",
            "id=\"j-2\"",
            "Read this first",
            "<svg></svg>",
            "A remark.",
            "By size",
            "(Jiang)",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        let wrong = html.split("Where the papers are wrong</h").nth(1).unwrap();
        let wrong = wrong.split("</ul>").next().unwrap();
        assert!(wrong.contains("J-2") && wrong.contains("P-1") && !wrong.contains("J-1"), "{wrong}");
    }

    #[test]
    fn a_page_of_nothing_is_a_page() {
        let page = page(&[], &Method { missing: vec!["J-9"], ..method() });
        assert!(page.subtitle.contains("not complete"));
        let html = page.html();
        assert!(html.contains("J-9 was not measured") && html.contains("Nowhere, as far"), "{html}");
    }
}
