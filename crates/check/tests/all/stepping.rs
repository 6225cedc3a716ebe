//! The run that the checker shows can be stepped to, for every standard model that breaks a rule.

use meshlock_check::suite::{self, Expected};
use meshlock_check::{Limits, Silent, Stepper};
use meshlock_properties::Rule;

#[test]
fn every_known_defect_can_be_stepped_to() {
    let mut seen = 0;
    for entry in suite::standard() {
        let Expected::Breaks { rule, steps } = entry.expected else { continue };
        let report = entry.run(&Limits::default(), &mut Silent).unwrap();
        let shown = report.broken.unwrap();
        let mut stepper = Stepper::new(&entry.trial, true, "").unwrap();
        let path = stepper.path(&shown.run).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(path.len(), steps, "{}", entry.name);
        let place = stepper.at(&path).unwrap();
        if shown.cycle.is_some() {
            // An infinite run is wrong as a whole; none of its states is.
            assert!(matches!(rule, Rule::MessagesEnd | Rule::Starvation), "{}", entry.name);
            assert_eq!(place.broken, None, "{}", entry.name);
        } else {
            let broken = place.broken.unwrap_or_else(|| panic!("{}: nothing is broken at the end", entry.name));
            assert_eq!((broken.rule, broken.what), (rule.name(), shown.what), "{}", entry.name);
            let (last, before) = path.split_last().unwrap();
            let before = stepper.at(before).unwrap();
            assert_eq!(before.next[*last as usize].breaks, Some(rule.name()), "{}", entry.name);
            assert_eq!(before.broken, None, "{}", entry.name);
        }
        seen += 1;
    }
    assert!(seen > 30, "only {seen} models break a rule");
}
