//! Every claim of the report on flooding comes out as expected, with as little effort as shows it.

use meshlock_reproduce::{Effort, Evidence, Lab, psar};

#[test]
fn every_claim_of_the_report_comes_out_as_expected() {
    let lab = Lab::new(Effort::Test, 2, || true);
    let mut ids = Vec::new();
    for claim in psar::claims() {
        let finding = (claim.measure)(&lab);
        assert!(finding.as_expected, "{} ({}): {}", claim.id, claim.expected, finding.measured);
        let has_table = finding.evidence.iter().any(|evidence| matches!(evidence, Evidence::Table(..)));
        assert!(has_table, "{} shows its numbers", claim.id);
        ids.push(claim.id);
    }
    let expected: Vec<String> = (1..=13).map(|number| format!("P-{number}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn measuring_again_gives_the_same_numbers() {
    let claims = psar::claims();
    for id in ["P-4", "P-6", "P-13"] {
        let claim = claims.iter().find(|claim| claim.id == id).expect("it is in the list");
        let once = (claim.measure)(&Lab::new(Effort::Test, 1, || true)).measured;
        let again = (claim.measure)(&Lab::new(Effort::Test, 2, || true)).measured;
        assert_eq!(once, again, "{id} does not depend on the number of threads");
    }
}
