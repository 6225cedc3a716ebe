//! What an entry costs: messages, transmissions and bytes, in all and by kind.

use std::collections::BTreeMap;

use super::{Sheet, Window};
use crate::outcome::{Kind, Outcome, Totals};
use crate::time::Time;

/// Everything sent by kind, and of which time.
pub(super) struct Sent {
    pub(super) kinds: Vec<Kind>,
    pub(super) of: Window,
}

/// After the warm-up, if it was known before the run. If it was found afterwards, only the sums of that moment are
/// known, and kinds are of the whole run.
pub(super) fn sent(outcome: &Outcome, window: &Window) -> Sent {
    if window.sent_before.is_some() {
        return Sent { kinds: outcome.kinds.clone(), of: Window { start: Time::ZERO, ..*window } };
    }
    let before: BTreeMap<&str, Totals> = outcome.kinds_before.iter().map(|kind| (kind.name, kind.totals)).collect();
    let since = |kind: &Kind| {
        let before = before.get(kind.name).copied().unwrap_or_default();
        Kind { name: kind.name, totals: less(kind.totals, before) }
    };
    Sent { kinds: outcome.kinds.iter().map(since).collect(), of: *window }
}

pub(super) fn tell(outcome: &Outcome, window: &Window, sheet: &mut Sheet) {
    let entries = outcome.entries(window) as f64;
    let before = window.sent_before.unwrap_or_else(|| Totals::of(&outcome.kinds_before));
    put_totals(sheet, "", less(Totals::of(&outcome.kinds), before), entries);
    let Sent { kinds, of } = sent(outcome, window);
    let entries = outcome.entries(&of) as f64;
    for kind in kinds {
        put_totals(sheet, &format!(".{}", kind.name), kind.totals, entries);
    }
    let all_entries = outcome.entries(&Window { start: Time::ZERO, ..*window }) as f64;
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
