//! Every claim of the group paper, measured as little as shows the point.

use meshlock_reproduce::{Effort, Lab, swaroop};

#[test]
fn every_finding_is_as_expected() {
    let lab = Lab::new(Effort::Test, 1, || true);
    let claims = swaroop::claims();
    let ids: Vec<String> = claims.iter().map(|claim| claim.id.to_owned()).collect();
    let all: Vec<String> = (1..=16).map(|number| format!("S4-{number}")).collect();
    assert_eq!(ids, all);
    let mut surprises = Vec::new();
    for claim in claims {
        let finding = (claim.measure)(&lab);
        assert!(!finding.evidence.is_empty(), "{}: no evidence", claim.id);
        if !finding.as_expected {
            surprises.push(format!("{}: {}\n    expected: {}", claim.id, finding.measured, claim.expected));
        }
    }
    assert!(surprises.is_empty(), "not as expected:\n{}", surprises.join("\n"));
}
