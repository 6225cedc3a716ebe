//! What an entry costs: messages, transmissions and bytes, in all and by kind.

use std::collections::BTreeMap;

use super::{Sheet, Window};
use crate::outcome::{Outcome, Totals};
use crate::time::Time;

pub(super) fn tell(outcome: &Outcome, window: &Window, sheet: &mut Sheet) {
    let entries = outcome.entries(window) as f64;
    let all_entries = outcome.entries(&Window { start: Time::ZERO, ..*window }) as f64;
    let total = Totals::of(&outcome.kinds);
    match window.sent_before {
        // A warm-up that was known before the run: kinds are known at its end.
        None => {
            put_totals(sheet, "", less(total, Totals::of(&outcome.kinds_before)), entries);
            let before: BTreeMap<&str, Totals> =
                outcome.kinds_before.iter().map(|kind| (kind.name, kind.totals)).collect();
            for kind in &outcome.kinds {
                let before = before.get(kind.name).copied().unwrap_or_default();
                put_totals(sheet, &format!(".{}", kind.name), less(kind.totals, before), entries);
            }
        }
        // A warm-up found afterwards: only the sums of that moment are known.
        Some(before) => {
            put_totals(sheet, "", less(total, before), entries);
            for kind in &outcome.kinds {
                put_totals(sheet, &format!(".{}", kind.name), kind.totals, all_entries);
            }
        }
    }
    sheet.put("acks/entry", outcome.acks as f64 / all_entries);
}

fn less(totals: Totals, before: Totals) -> Totals {
    Totals {
        messages: totals.messages.saturating_sub(before.messages),
        frames: totals.frames.saturating_sub(before.frames),
        bytes: totals.bytes.saturating_sub(before.bytes),
    }
}

fn put_totals(sheet: &mut Sheet, kind: &str, totals: Totals, entries: f64) {
    sheet.put(format!("messages{kind}/entry"), totals.messages as f64 / entries);
    sheet.put(format!("frames{kind}/entry"), totals.frames as f64 / entries);
    sheet.put(format!("bytes{kind}/entry"), totals.bytes as f64 / entries);
}
