//! Tells the page that there is more, as lines of JSON that never end.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::Shown;
use crate::source::{About, Condition, Playing};
use crate::tape::Extent;

/// How often the page may hear of something; a screen shows no more.
const EVERY: Duration = Duration::from_millis(50);
/// So often something is said without a change: the page knows by it that the server is there, and a page that is gone
/// shows when something is sent to it.
const STILL_THERE: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Update {
    tapes: Vec<TapeUpdate>,
    playing: Option<Playing>,
    about: bool,
    /// Only when it changed.
    condition: Option<Condition>,
}

#[derive(Serialize)]
struct TapeUpdate {
    tape: usize,
    #[serde(flatten)]
    extent: Extent,
}

struct Told {
    source: Shown,
    changes: watch::Receiver<u64>,
    extents: Vec<Extent>,
    playing: Option<Playing>,
    about: Option<About>,
    condition: Condition,
    when: Instant,
}

pub(super) async fn stream(State(source): State<Shown>) -> Response {
    let changes = source.changes();
    let (extents, condition, when) = (Vec::new(), Condition::default(), Instant::now());
    let told = Told { source, changes, extents, playing: None, about: None, condition, when };
    let lines = stream::unfold(told, async |mut told| {
        let update = told.next().await;
        let mut line = update.and_then(|update| serde_json::to_vec(&update).ok()).unwrap_or_default();
        line.push(b'\n');
        Some((Ok::<_, Infallible>(Bytes::from(line)), told))
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}

impl Told {
    /// Waits until there is something to tell, or nothing for a while. The first time there is.
    async fn next(&mut self) -> Option<Update> {
        loop {
            let first = self.about.is_none();
            let now = self.source.about();
            let about = self.about.as_ref().is_some_and(|before| *before != now);
            self.about = Some(now);
            let extents: Vec<Extent> = self.source.tapes().iter().map(|tape| tape.extent()).collect();
            let is_new = |(tape, extent): &(usize, &Extent)| self.extents.get(*tape) != Some(*extent);
            let new = extents.iter().enumerate().filter(is_new);
            let tapes: Vec<_> = new.map(|(tape, extent)| TapeUpdate { tape, extent: *extent }).collect();
            let playing = self.source.playing();
            let condition = Some(self.source.condition()).filter(|now| *now != self.condition);
            let changed = !tapes.is_empty() || playing != self.playing || about || condition.is_some() || first;
            if !changed && self.when.elapsed() > STILL_THERE {
                self.when = Instant::now();
                return None;
            }
            if changed {
                (self.extents, self.playing, self.when) = (extents, playing.clone(), Instant::now());
                if let Some(condition) = &condition {
                    self.condition.clone_from(condition);
                }
                if !first {
                    sleep(EVERY).await;
                }
                return Some(Update { tapes, playing, about, condition });
            }
            // Tapes are looked at; the source itself says when something else has changed.
            tokio::select! {
                () = sleep(EVERY) => {}
                Ok(()) = self.changes.changed() => {}
            }
        }
    }
}
