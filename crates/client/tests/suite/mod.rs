//! What a client can rely on, the same over every way to a node.

pub(crate) mod bundles;
pub(crate) mod guards;
pub(crate) mod resources;
pub(crate) mod waiting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock::Client;
use meshlock_node::hub::Hub;
use meshlock_node::machine::{Machine, Settings};

/// A node and a client of it.
pub(crate) struct World {
    pub(crate) hub: Arc<Hub>,
    pub(crate) client: Client,
}

/// A node alone in its mesh, with its time running on a thread of its own: also when the test's own thread is stopped.
pub(crate) fn hub() -> Arc<Hub> {
    let settings = Settings::founder("test", "n0");
    let (hub, _) = Hub::new(Machine::new(settings));
    let running = Arc::clone(&hub);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(running.keep_time());
    });
    hub
}

/// Waits until something is so. On a machine that is too slow for this, nothing else would work either.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so().await {
        assert!(Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

impl World {
    pub(crate) async fn until_waiting(&self, name: &str, number: usize) {
        until("so many wait", async || self.client.query(name).await.unwrap().waiters.len() == number).await;
    }

    pub(crate) async fn until_held(&self, name: &str, number: usize) {
        until("so many hold", async || self.client.query(name).await.unwrap().holders.len() == number).await;
    }
}

/// A test of each function, in a world made by `$world`.
macro_rules! stories {
    ($world:path: $($module:ident::{$($story:ident),* $(,)?})*) => {
        $($(
            #[tokio::test]
            async fn $story() {
                $crate::suite::$module::$story($world().await).await;
            }
        )*)*
    };
}
pub(crate) use stories;

/// All stories in a world.
macro_rules! all_stories {
    ($world:path) => {
        $crate::suite::stories!($world:
            guards::{
                one_holder_at_a_time_and_fences_grow,
                a_dropped_guard_gives_back,
                a_guard_is_renewed_beyond_its_lease,
                what_is_taken_away_is_lost,
                what_somebody_else_gives_back_is_lost,
                work_under_a_guard_returns_its_result_or_the_loss,
                a_program_that_was_stopped_knows_that_it_lost,
                a_grant_without_a_guard_is_renewed_and_released_by_its_id,
                renewing_goes_on_when_its_runtime_is_gone,
            }
            bundles::{
                all_are_held_under_one_guard,
                it_is_renewed_as_one_and_a_loss_is_one,
                no_longer_waited_for_it_leaves_nothing_behind,
                what_cannot_be_is_refused_with_the_reason,
            }
            waiting::{
                trying_fails_while_somebody_holds,
                a_dropped_future_cancels_its_request,
                waiting_ends_with_the_timeout,
                the_more_urgent_goes_first,
                a_waiting_request_outlives_its_lease,
                a_place_in_the_queue_is_told,
                a_cancelled_request_is_an_error_to_who_waits,
            }
            resources::{
                units_are_counted,
                a_guard_knows_which_units_it_has,
                more_units_than_there_are_is_refused,
                the_same_session_is_attended_together,
                readers_read_together_and_writers_write_alone,
                another_definition_is_refused,
                events_tell_what_happens,
                unknown_requests_are_refused,
                nonsense_is_refused,
            }
        );
    };
}
pub(crate) use all_stories;
