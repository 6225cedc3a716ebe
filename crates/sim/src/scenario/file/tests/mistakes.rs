//! Every mistake with the exact words in which it is told.

mod crashes;
mod networks;
mod protocols;
mod studies;
mod values;

use super::told;

/// What is told, the text, what is set, and how it is told.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

#[test]
fn every_mistake_is_told_in_these_words() {
    let all = [values::CASES, protocols::CASES, networks::CASES, crashes::CASES, studies::CASES];
    for (what, text, sets, words) in all.concat() {
        assert_eq!(told(text, sets), words, "{what}");
    }
}
