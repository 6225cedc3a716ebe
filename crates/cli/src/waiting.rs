//! Waiting for a grant: place and estimate on a terminal, and a way out.

use std::time::Duration;

use meshlock::{Client, Error};
use meshlock_api::{RequestInfo, duration};
use tokio::time::{Instant, interval_at, sleep, timeout};

use crate::exit::Exit;
use crate::output::word;
use crate::signals::{Signals, code};
use crate::status_line::{Destination, StatusLine};
use crate::wish::Wish;

/// After this time people want to know what is going on.
const SHOW_AFTER: Duration = Duration::from_secs(2);
const SHOW_EVERY: Duration = Duration::from_secs(1);
/// How long a node may take to answer when the user wants to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A question needs less than this to get to the node.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// Waits for `grant`, the request with this id. Ended by a signal, it takes the request back. `Err` is how the command
/// ends without it.
pub(crate) async fn wait<T>(
    client: &Client,
    (wish, id): (&Wish, &str),
    signals: &mut Signals,
    grant: impl Future<Output = Result<T, Error>>,
) -> anyhow::Result<Result<T, Exit>> {
    let began = Instant::now();
    let mut line = StatusLine::new(false);
    let mut ticks = interval_at(began + SHOW_AFTER, SHOW_EVERY);
    tokio::pin!(grant);
    let granted = loop {
        tokio::select! {
            granted = &mut grant => break granted,
            signal = signals.end() => {
                line.clear();
                // Once more, in case the request was still on its way. If the node does not answer, it sees our end.
                let released = async {
                    if client.release(id).await.is_err() {
                        sleep(ON_ITS_WAY).await;
                        let _ = client.release(id).await;
                    }
                };
                let _ = timeout(LAST_WORDS, released).await;
                return Ok(Err(Exit::Other(code(signal))));
            }
            _ = ticks.tick(), if line.destination() == Destination::Terminal => {
                if let Ok(info) = client.request(id).await
                    && let Some(words) = describe(&info.resource, began.elapsed(), &info)
                {
                    line.show(&words);
                }
            }
        }
    };
    line.clear();
    match granted {
        Ok(granted) => Ok(Ok(granted)),
        Err(error @ Error::TimedOut { .. }) => {
            if !wish.at_once {
                anstream::eprintln!("{error}");
            }
            Ok(Err(Exit::Other(wish.conflict_exit_code)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Says that a resource was made for this request. A name that was mistyped would otherwise be a lock that excludes no
/// other program.
pub(crate) async fn tell_what_was_made(client: &Client, id: &str) {
    let Ok(RequestInfo { resource, made, parts, .. }) = client.request(id).await else { return };
    let parts = parts.into_iter().map(|part| (part.resource, part.made));
    for (name, made) in std::iter::once((resource, made)).chain(parts) {
        if let Some(made) = made {
            anstream::eprintln!("meshlock: {name} is new: made as a {}, for the whole mesh", word(&made.kind));
        }
    }
}

/// Nothing if it does not wait any more.
fn describe(name: &str, waited: Duration, info: &RequestInfo) -> Option<String> {
    let waiting = format!("waiting for {name} for {}", duration::display(waited));
    if let Some(reason) = info.reason.as_ref().filter(|_| !info.state.is_over()) {
        return Some(format!("{waiting}: {reason}"));
    }
    if let Some(lost) = &info.out_of_reach {
        return Some(format!("{waiting}: its token is {lost}"));
    }
    let place = info.place?;
    let at_least = if place.exact { "" } else { "at least " };
    let ahead = match place.ahead {
        0 if place.exact => "next in line".to_owned(),
        0 => "first in line at this node".to_owned(),
        ahead => format!("{at_least}{ahead} ahead"),
    };
    let time = |ms| duration::display(Duration::from_millis(ms));
    let range = place.estimate_low_ms.zip(place.estimate_high_ms);
    let estimate = range.map(|(low, high)| format!(", {} to {} to go", time(low), time(high))).unwrap_or_default();
    Some(format!("{waiting}: {ahead}{estimate}"))
}

#[cfg(test)]
mod tests {
    use meshlock_api::{OutOfReach, Place, State, Urgency};

    use super::*;

    fn info(place: Option<Place>, out_of_reach: Option<OutOfReach>) -> RequestInfo {
        RequestInfo {
            id: "a".into(),
            resource: "dock".into(),
            state: State::Queued,
            parts: Vec::new(),
            units: 1,
            urgency: Urgency::Priority(0),
            session: None,
            mode: None,
            owner: None,
            fence: None,
            fence_text: None,
            slots: Vec::new(),
            slot_names: Vec::new(),
            lease_ms: 1,
            expires_in_ms: None,
            waited_ms: 12_000,
            held_ms: None,
            place,
            out_of_reach,
            reason: None,
            expiry: None,
            made: None,
        }
    }

    fn told(place: Option<Place>, out_of_reach: Option<OutOfReach>) -> String {
        describe("dock", Duration::from_secs(12), &info(place, out_of_reach)).unwrap_or_default()
    }

    #[test]
    fn a_place_is_told_with_what_is_not_known() {
        let place = |ahead, exact, estimate_ms: Option<u64>| {
            let (estimate_low_ms, estimate_high_ms) = (estimate_ms.map(|ms| ms / 3), estimate_ms.map(|ms| ms * 2));
            told(Some(Place { ahead, exact, estimate_ms, estimate_low_ms, estimate_high_ms }), None)
        };
        assert_eq!(place(2, true, Some(30_000)), "waiting for dock for 12s: 2 ahead, 10s to 1m00s to go");
        assert_eq!(place(2, false, None), "waiting for dock for 12s: at least 2 ahead");
        assert_eq!(place(0, true, None), "waiting for dock for 12s: next in line");
    }

    #[test]
    fn a_token_out_of_reach_is_no_line() {
        let lost = OutOfReach { for_ms: Some(9_000), last_seen: Some("n2".into()) };
        let expected = "waiting for dock for 12s: its token is out of reach for 9.0s, last seen at n2: bring n2 back, or the \
                        links to it";
        assert_eq!(told(None, Some(lost)), expected);
    }
}
