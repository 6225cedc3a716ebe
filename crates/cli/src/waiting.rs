//! Waiting for a grant: place and estimate on a terminal, and a way out.

use std::time::Duration;

use meshlock::{Client, Error};
use meshlock_api::{Place, duration};
use tokio::time::{Instant, interval_at, sleep};

use crate::exit::Exit;
use crate::signals::{Signals, code};
use crate::status::{Place as Output, Status};
use crate::wish::Wish;

/// After this time people want to know what is going on.
const SHOW_AFTER: Duration = Duration::from_secs(2);
const SHOW_EVERY: Duration = Duration::from_secs(1);
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
    let mut line = Status::new(false);
    let mut ticks = interval_at(began + SHOW_AFTER, SHOW_EVERY);
    tokio::pin!(grant);
    let granted = loop {
        tokio::select! {
            granted = &mut grant => break granted,
            signal = signals.end() => {
                line.clear();
                // Once more, in case the request was still on its way. If the node does not answer, the lease ends it.
                if client.release(id).await.is_err() {
                    sleep(ON_ITS_WAY).await;
                    let _ = client.release(id).await;
                }
                return Ok(Err(Exit::Other(code(signal))));
            }
            _ = ticks.tick(), if line.place() == Output::Terminal => {
                if let Ok(Some(place)) = client.request(id).await.map(|info| info.place) {
                    line.show(&describe(&wish.name, began.elapsed(), place));
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

fn describe(name: &str, waited: Duration, place: Place) -> String {
    let at_least = if place.exact { "" } else { "at least " };
    let ahead = match place.ahead {
        0 if place.exact => "next in line".to_owned(),
        0 => "first in line at this node".to_owned(),
        ahead => format!("{at_least}{ahead} ahead"),
    };
    let about = |ms| format!(", about {} to go", duration::display(Duration::from_millis(ms)));
    let estimate = place.estimate_ms.map(about).unwrap_or_default();
    format!("waiting for {name} for {}: {ahead}{estimate}", duration::display(waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_with_what_is_not_known() {
        let waited = Duration::from_secs(12);
        let place = |ahead, exact, estimate_ms| describe("dock", waited, Place { ahead, exact, estimate_ms });
        assert_eq!(place(2, true, Some(30_000)), "waiting for dock for 12s: 2 ahead, about 30s to go");
        assert_eq!(place(2, false, None), "waiting for dock for 12s: at least 2 ahead");
        assert_eq!(place(0, true, None), "waiting for dock for 12s: next in line");
    }
}
