//! Every claim comes out as expected, with as little effort as shows it; and other numbers would change its verdict.

use meshlock_reproduce::verdict::Runs;
use meshlock_reproduce::{Claim, Column, Conclusion, Demand, Effort, Fact, Finding, Lab, Text, Verdict};
use meshlock_reproduce::{claims, jiang, psar, swaroop};

fn within(demand: &Demand) -> f64 {
    match (demand.least.is_finite(), demand.most.is_finite()) {
        (true, true) => f64::midpoint(demand.least, demand.most),
        (true, false) => demand.least + 1.0,
        (false, true) => demand.most - 1.0,
        (false, false) => 0.0,
    }
}

/// Numbers outside of it, on each side that has one.
fn outside(demand: &Demand) -> Vec<f64> {
    let below = demand.least.is_finite().then_some(demand.least - 0.01);
    let above = demand.most.is_finite().then_some(demand.most + 0.01);
    below.into_iter().chain(above).collect()
}

fn replaced(column: &Column, fact: Fact) -> Column {
    let facts = column.facts.iter().map(|old| if old.name == fact.name { fact } else { *old }).collect();
    Column { facts, ..column.clone() }
}

#[test]
fn contrary_numbers_change_the_word_of_every_claim() {
    for claim in claims() {
        let facts = claim.demands.iter().map(|demand| Fact::exact(demand.fact, within(demand))).collect();
        let good = Column::new(Text::Printed, Runs::default(), facts);
        let concluded = |column: &Column| {
            let finding = Finding { columns: vec![column.clone()], ..Finding::default() };
            claim.conclusion(&finding)
        };
        if claim.demands.is_empty() {
            assert_eq!(concluded(&good), Conclusion::Measured, "{}", claim.id);
            continue;
        }
        assert_eq!((claim.verdict(&good), concluded(&good)), (Verdict::Holds, Conclusion::Holds), "{}", claim.id);
        for demand in claim.demands {
            let contrary = outside(demand);
            assert!(!contrary.is_empty(), "{}: {} cannot fail", claim.id, demand.fact);
            for value in contrary {
                let bad = replaced(&good, Fact::exact(demand.fact, value));
                let (word, conclusion) = if demand.only_if {
                    (Verdict::Unknown, Conclusion::Open)
                } else {
                    (Verdict::Fails, Conclusion::Wrong)
                };
                assert_eq!(claim.verdict(&bad), word, "{}: {} = {value}", claim.id, demand.fact);
                assert_eq!(concluded(&bad), conclusion, "{}: {} = {value}", claim.id, demand.fact);
            }
            let unknown = replaced(&good, Fact::exact(demand.fact, f64::NAN));
            assert_eq!(claim.verdict(&unknown), Verdict::Unknown, "{}: {}", claim.id, demand.fact);
        }
    }
}

/// Whether other numbers in what was really measured change what is said of it: the names of numbers fit.
fn depends_on_its_numbers(claim: &Claim, finding: &Finding) {
    for column in &finding.columns {
        for demand in claim.demands {
            let named = column.facts.iter().any(|fact| fact.name == demand.fact);
            let found = claim.verdict(column);
            assert!(named || found != Verdict::Holds, "{}: {} has no `{}`", claim.id, column.text, demand.fact);
            if found == Verdict::Holds {
                for value in outside(demand) {
                    let bad = replaced(column, Fact::exact(demand.fact, value));
                    assert_ne!(claim.verdict(&bad), Verdict::Holds, "{}: {}", claim.id, demand.fact);
                }
            }
        }
        if claim.verdict(column) == Verdict::Fails {
            let facts = claim.demands.iter().map(|demand| Fact::exact(demand.fact, within(demand))).collect();
            let good = Column { facts, ..column.clone() };
            assert_eq!(claim.verdict(&good), Verdict::Holds, "{}: {}", claim.id, column.text);
        }
    }
}

/// Measures as little of each claim as shows its verdict. Seeds are fixed, so it comes out the same on every machine.
fn come_out_as_expected(claims: &[Claim], ids: &[&str]) {
    let lab = Lab::new(Effort::Test, 2, || true);
    assert_eq!(claims.iter().map(|claim| claim.id).collect::<Vec<_>>(), ids);
    let mut surprises = Vec::new();
    for claim in claims {
        let finding = (claim.measure)(&lab);
        assert!(!finding.evidence.is_empty() && !finding.measured.is_empty(), "{}: shows nothing", claim.id);
        depends_on_its_numbers(claim, &finding);
        surprises.extend(claim.surprises(&finding).into_iter().map(|words| format!("{}: {words}", claim.id)));
    }
    assert!(surprises.is_empty(), "not as expected:\n{}", surprises.join("\n"));
}

#[test]
fn the_claims_of_the_reverse_link_paper_come_out_as_expected() {
    let ids = [
        "J-1", "J-2", "J-3", "J-4a", "J-4b", "J-5", "J-6", "J-7", "J-8", "J-9", "J-10", "J-11a", "J-11b", "J-12",
        "J-13", "J-14", "J-15", "J-16",
    ];
    come_out_as_expected(jiang::CLAIMS, &ids);
}

#[test]
fn the_claims_of_the_report_on_flooding_come_out_as_expected() {
    let ids = ["P-1", "P-2", "P-3", "P-4", "P-5", "P-6", "P-7", "P-8", "P-9", "P-10", "P-11", "P-12", "P-13"];
    come_out_as_expected(psar::CLAIMS, &ids);
}

#[test]
fn the_claims_of_the_group_paper_come_out_as_expected() {
    let ids = [
        "S4-1", "S4-2", "S4-3", "S4-4", "S4-5", "S4-6", "S4-7", "S4-8", "S4-9", "S4-10", "S4-11", "S4-12", "S4-13",
        "S4-14", "S4-15", "S4-16",
    ];
    come_out_as_expected(swaroop::CLAIMS, &ids);
}

#[test]
fn measuring_again_gives_the_same_numbers() {
    for id in ["P-4", "P-6", "P-13"] {
        let claim = psar::CLAIMS.iter().find(|claim| claim.id == id).expect("it is in the list");
        let once = (claim.measure)(&Lab::new(Effort::Test, 1, || true));
        let again = (claim.measure)(&Lab::new(Effort::Test, 2, || true));
        // As text, since what could not be measured is no number and equals nothing.
        let shown = |finding: &Finding| format!("{} {:?}", finding.measured, finding.columns);
        assert_eq!(shown(&once), shown(&again), "{id} with one thread and with two");
    }
}
