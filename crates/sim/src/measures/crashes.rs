//! What crashes cost: outages, repairs, and work that was lost.

use super::costs::{Sent, sent};
use super::{Sheet, Window};
use crate::outcome::{Outage, Outcome, Totals};
use crate::time::Time;

/// The kinds of messages that only a repair needs.
const KINDS: [&str; 2] = ["census", "report"];

/// Nothing is told of a run without crashes.
pub(super) fn tell(outcome: &Outcome, window: &Window, sheet: &mut Sheet) {
    let Some(seen) = &outcome.crashes else { return };
    let within = |times: &[Time]| times.iter().filter(|at| window.has(**at)).count() as f64;
    sheet.put("crashes", within(&seen.crashed));
    sheet.put("repairs", within(&seen.facts));
    sheet.put("tokens.remade", within(&seen.remade));
    sheet.put("cut-short", within(&seen.cut_short));
    sheet.put("cut-short/entry", within(&seen.cut_short) / outcome.entries(window) as f64);
    sheet.put("refused", within(&seen.refused));
    let declared = || seen.declared.iter().filter(|declaration| window.has(declaration.at));
    sheet.put("declared", declared().count() as f64);
    sheet.put("declared.wrongly", declared().filter(|declaration| declaration.wrongly).count() as f64);

    // One that has not ended by then has lasted at least so long.
    let end = |outage: &Outage| outage.end.unwrap_or(window.end).min(window.end);
    let begun = seen.outages.iter().filter(|outage| window.has(outage.start));
    let lengths: Vec<f64> = begun.map(|outage| end(outage).since(outage.start).seconds()).collect();
    sheet.put("outages", lengths.len() as f64);
    sheet.put_spread("outage", lengths, &["mean", "p99", "max"]);
    let time: f64 = seen.outages.iter().map(|outage| end(outage).since(outage.start.max(window.start)).seconds()).sum();
    sheet.put("outage.share", time / window.seconds());

    let Sent { mut kinds, of } = sent(outcome, window);
    kinds.retain(|kind| KINDS.contains(&kind.name));
    let totals = Totals::of(&kinds);
    let repairs = seen.facts.iter().filter(|at| of.has(**at)).count() as f64;
    sheet.put("messages/repair", totals.messages as f64 / repairs);
    sheet.put("frames/repair", totals.frames as f64 / repairs);
    sheet.put("bytes/repair", totals.bytes as f64 / repairs);
}
