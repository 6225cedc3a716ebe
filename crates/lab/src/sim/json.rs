//! `--json`: a run for programs. The same run gives the same document; fields are only ever added.

use meshlock_sim::CODE_VERSION;
use meshlock_sim::measures::Measures;
use meshlock_sim::outcome::Kind;
use meshlock_sim::run::watched;
use meshlock_sim::scenario::Text;
use meshlock_study::subject::BrokenRule;
use serde::Serialize;

use super::{Ran, Subject};

#[derive(Serialize)]
pub(super) struct Run<'a> {
    name: &'a str,
    file: Option<&'a str>,
    code_version: &'a str,
    protocol: &'static str,
    variant: &'static str,
    seed: u64,
    /// False if Ctrl-C ended it.
    complete: bool,
    /// It ended before its time: by a storm if there is one, else by a broken rule.
    stopped: bool,
    /// The limit that was exceeded, in words.
    storm: Option<String>,
    /// Until then it was measured.
    end_s: f64,
    /// When nothing was under way any more; null if it did not come to rest.
    quiet_s: Option<f64>,
    /// In hexadecimal, because not every reader of JSON keeps 64 bits.
    trace_hash: String,
    measures: &'a Measures,
    /// Of the whole run, warm-up included.
    kinds: &'a [Kind],
    acks: u64,
    rules: Vec<&'static str>,
    violations: Vec<BrokenRule>,
    trace: Option<&'a str>,
    replay: &'a str,
    /// Everything that decided it, but for the seed.
    scenario: String,
}

impl<'a> Run<'a> {
    pub(super) fn of(subject: &'a Subject, ran: &'a Ran) -> Self {
        let Subject { scenario, .. } = subject;
        let outcome = &ran.outcome;
        Self {
            name: &scenario.name,
            file: subject.file.as_deref(),
            code_version: CODE_VERSION,
            protocol: scenario.protocol.name.name(),
            variant: match scenario.protocol.text {
                Text::Repaired => "repaired",
                Text::Published { .. } => "published",
            },
            seed: subject.seed,
            complete: ran.complete,
            stopped: outcome.stopped,
            storm: outcome.storm.map(|storm| storm.to_string()),
            end_s: outcome.end.seconds(),
            quiet_s: outcome.quiet.map(|quiet| quiet.seconds()),
            trace_hash: format!("{:016x}", outcome.trace_hash),
            measures: &ran.measures,
            kinds: &outcome.kinds,
            acks: outcome.acks,
            rules: watched(&scenario.protocol).iter().map(|rule| rule.name()).collect(),
            violations: outcome.broken.iter().map(BrokenRule::from).collect(),
            trace: ran.trace.as_deref(),
            replay: &ran.replay,
            scenario: subject.document.canonical(),
        }
    }
}
