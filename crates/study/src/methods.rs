//! The paragraph on methods that every paper needs, made from what was really run.

mod words;

use meshlock_sim::scenario::{Network, Scenario, Warmup};

use crate::plan::Plan;

/// What was simulated and how, as points of a list: a subject and a sentence.
pub fn methods(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut methods: Vec<(&'static str, String)> = Vec::new();
    for (subject, of) in SUBJECTS {
        let told = told(plan, of);
        if !told.is_empty() {
            methods.push((*subject, told));
        }
    }
    methods.push(("Varied", varied(plan)));
    methods.push(("Replications", replications(plan)));
    methods.push((
        "Intervals",
        "Means are over replications, with 95 % intervals by Student's t. Comparisons are paired by replication; p values \
         are two-sided (paired t test) and adjusted by Holm's method within each family of comparisons."
            .to_owned(),
    ));
    methods.push((
        "Code",
        format!(
            "meshlock {} (package version, and a fingerprint of the sources of protocols, rules and simulator). A \
             scenario and a seed give the same run on every machine.",
            plan.code_version
        ),
    ));
    methods
}

/// What one scenario says of each subject: a subject and a sentence.
pub fn subjects(scenario: &Scenario) -> Vec<(&'static str, String)> {
    SUBJECTS.iter().map(|(subject, of)| (*subject, of(scenario))).filter(|(_, told)| !told.is_empty()).collect()
}

/// One sentence where all points agree, otherwise all that there are.
fn told(plan: &Plan, of: &dyn Fn(&Scenario) -> String) -> String {
    let mut different: Vec<String> = Vec::new();
    for point in &plan.points {
        let text = of(&point.scenario);
        if !different.contains(&text) {
            different.push(text);
        }
    }
    if different.len() <= LISTED {
        return different.join("; or ");
    }
    let more = different.len() - LISTED;
    different.truncate(LISTED);
    format!("{}; or {more} others, see the points below", different.join("; or "))
}

fn varied(plan: &Plan) -> String {
    if plan.axes.is_empty() {
        return "Nothing: there is one point.".to_owned();
    }
    let axis = |axis: &crate::plan::Dimension| {
        let labels: Vec<&str> = axis.values.iter().map(|value| value.label.as_str()).collect();
        format!("`{}` = {}", axis.name, labels.join(", "))
    };
    let axes: Vec<String> = plan.axes.iter().map(axis).collect();
    format!("{}; {} points.", axes.join("; "), plan.points.len())
}

fn replications(plan: &Plan) -> String {
    let (first, last) = (plan.seed, plan.seed_of(plan.most() - 1));
    let how_many = match &plan.stop {
        None => format!("{} for each point", plan.repeat),
        Some(stop) => format!(
            "{} for each point, then more until half of the interval of `{}` is at most {} % of its mean, at most {}",
            plan.repeat,
            stop.measure,
            100.0 * stop.half_width,
            plan.most()
        ),
    };
    format!(
        "{how_many}; seeds {first} to {last}. Replication r of every point has the same seed (common random numbers), so \
         that points differ by what is varied and not by luck."
    )
}

fn durations(scenario: &Scenario) -> String {
    let warmup = match scenario.warmup {
        Warmup::Fixed(span) => format!("the first {span} are left out"),
        Warmup::Mser5 => "the warm-up that MSER-5 finds on the waiting times of each run is left out".to_owned(),
    };
    format!(
        "{} of simulated time, of which {warmup}; then at most {} without new requests, after which a waiting \
         request counts as stuck",
        scenario.duration, scenario.drain
    )
}

fn medium(scenario: &Scenario) -> String {
    match &scenario.network {
        Network::Radio(radio) => words::radio(radio),
        Network::Wired(wired) => words::wired(wired),
    }
}

fn mobility(scenario: &Scenario) -> String {
    match &scenario.network {
        Network::Radio(radio) => words::mobility(&radio.mobility),
        Network::Wired(wired) => words::changes(&wired.changes),
    }
}

/// A subject, and what a scenario says of it.
type Subject = (&'static str, &'static dyn Fn(&Scenario) -> String);

const SUBJECTS: &[Subject] = &[
    ("Nodes", &|scenario| scenario.nodes.to_string()),
    ("Network", &medium),
    ("Movement", &mobility),
    ("Traffic", &|scenario| words::traffic(&scenario.traffic, scenario.nodes)),
    ("Protocol", &|scenario| words::protocol(&scenario.protocol)),
    ("Crashes", &|scenario| scenario.crashes.as_ref().map(words::crashes).unwrap_or_default()),
    ("Time", &durations),
];

/// More different texts than these are not listed one by one.
const LISTED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, spec};

    #[test]
    fn what_was_run_is_told_and_what_varies_is_listed() {
        let methods = methods(&plan(&spec()));
        let of =
            |subject: &str| methods.iter().find(|(name, _)| *name == subject).map(|(_, text)| text.as_str()).unwrap();
        assert_eq!(of("Nodes"), "10; or 20");
        assert_eq!(
            of("Network"),
            "radio in an area of 600 m x 600 m: range 120 m, 1 Mb/s, latency 300us, messages of 200 bytes, errors \
             with probability 0, acknowledgements of 14 bytes, up to 7 repetitions; a link that breaks loses what is on it"
        );
        assert_eq!(of("Movement"), "straight lines with reflection at the border, speed (m/s) uniform from 1 to 5");
        assert_eq!(
            of("Protocol"),
            "reverse-link (repaired), k = 1, by priority; or reverse-link (repaired), k = 2, by priority"
        );
        assert!(of("Traffic").starts_with("100 clients: think (s) uniform from 0 to 1"), "{}", of("Traffic"));
        assert!(of("Time").starts_with("60s of simulated time, of which the first 5s are left out"), "{}", of("Time"));
        assert_eq!(of("Varied"), "`nodes` = 10, 20; `k` = 1, 2; 4 points.");
        assert!(of("Replications").starts_with("3 for each point; seeds 100 to 102."), "{}", of("Replications"));
    }
}
