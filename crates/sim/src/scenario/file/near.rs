//! Help for a name that does not exist: the nearest one, and all there are.

/// `did you mean ...? allowed: ...`
pub(super) fn help(given: &str, allowed: &[&str]) -> String {
    let list = allowed.join(", ");
    match nearest(given, allowed) {
        Some(near) => format!("did you mean `{near}`? allowed: {list}"),
        None => format!("allowed: {list}"),
    }
}

pub(super) fn nearest<'a>(given: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    let near = |name: &&str| strsim::jaro_winkler(&given, &name.to_lowercase());
    // The first of equals, so that the answer does not depend on the order of comparison.
    let best = allowed.iter().copied().rev().max_by(|a, b| near(a).total_cmp(&near(b)))?;
    (near(&best) >= NEAR).then_some(best)
}

const NEAR: f64 = 0.75;
