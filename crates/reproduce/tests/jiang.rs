//! Every claim of the reverse-link paper still comes out as expected.

use meshlock_reproduce::{Effort, Lab, jiang};

/// As little of each claim as shows its verdict. Seeds are fixed, so it comes out the same on every machine.
#[test]
fn every_claim_of_the_reverse_link_paper_comes_out_as_expected() {
    let lab = Lab::new(Effort::Test, 2, || true);
    let claims = jiang::claims();
    let ids: Vec<&str> = claims.iter().map(|claim| claim.id).collect();
    let expected: Vec<String> = (1..=16).map(|number| format!("J-{number}")).collect();
    assert_eq!(ids, expected);
    let surprise = |claim: &meshlock_reproduce::Claim| {
        let finding = (claim.measure)(&lab);
        let words = format!("{}: {} ({})", claim.id, finding.measured, finding.verdict.words());
        assert!(!finding.evidence.is_empty(), "{words}: without evidence");
        (!finding.as_expected).then(|| format!("{words}\n  expected: {}", claim.expected))
    };
    let surprises: Vec<String> = claims.iter().filter_map(surprise).collect();
    assert!(surprises.is_empty(), "not as expected:\n{}", surprises.join("\n"));
}
