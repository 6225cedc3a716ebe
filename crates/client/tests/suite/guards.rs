//! What is held.

use std::time::{Duration, Instant};

use meshlock::api::State;
use meshlock::{Error, Loss};

use super::{World, until};
use tokio::sync::oneshot;

const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn one_holder_at_a_time_and_fences_grow(world: World) {
    let first = world.client.lock("dock").owner("ann").await.unwrap();
    let fence = first.fence();
    let waiting = tokio::spawn(world.client.lock("dock").owner("bob").into_future());
    world.until_waiting("dock", 1).await;
    let query = world.client.query("dock").await.unwrap();
    assert_eq!(query.holders[0].owner.as_deref(), Some("ann"));
    assert_eq!(query.waiters[0].owner.as_deref(), Some("bob"));
    first.release().await.unwrap();
    let second = waiting.await.unwrap().unwrap();
    assert!(second.fence() > fence);
    assert_eq!((second.name(), second.units(), second.is_lost()), ("dock", 1, false));
}

pub(crate) async fn a_dropped_guard_gives_back(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    drop(guard);
    world.client.lock("dock").timeout(Duration::from_secs(60)).await.unwrap().release().await.unwrap();
    world.until_held("dock", 0).await;
}

pub(crate) async fn a_guard_is_renewed_beyond_its_lease(world: World) {
    let before = Instant::now();
    let guard = world.client.lock("dock").lease(SHORT).await.unwrap();
    assert!(guard.expires() <= Instant::now() + SHORT, "we never believe in more than the node gives");
    until("three leases have passed", async || guard.expires() >= before + SHORT * 3).await;
    assert!(!guard.is_lost());
    guard.release().await.unwrap();
}

pub(crate) async fn what_is_taken_away_is_lost(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    let ticket = world.hub.find(&guard.id()).unwrap();
    let revoke = async {
        tokio::task::yield_now().await;
        world.hub.with(|machine, now| machine.revoke(now, ticket, "the crane needs it"));
    };
    let (loss, ()) = tokio::join!(guard.lost(), revoke);
    assert_eq!(loss, Loss::Taken { state: State::Revoked, reason: Some("the crane needs it".into()) });
    assert!(guard.is_lost());
    assert_eq!(guard.lost().await, loss, "it stays lost");
    let error = guard.release().await.unwrap_err();
    assert!(matches!(&error, Error::Over(info) if info.state == State::Revoked), "{error}");
}

pub(crate) async fn work_under_a_guard_returns_its_result_or_the_loss(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    assert_eq!(guard.run(async { 7 }).await, Ok(7));
    let ticket = world.hub.find(&guard.id()).unwrap();
    let (start, started) = oneshot::channel();
    let endless = async {
        start.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let revoke = async {
        started.await.unwrap();
        world.hub.with(|machine, now| machine.revoke(now, ticket, "the crane needs it"));
    };
    let (stopped, ()) = tokio::join!(guard.run(endless), revoke);
    let loss = Loss::Taken { state: State::Revoked, reason: Some("the crane needs it".into()) };
    assert_eq!(stopped, Err(loss.clone()));
    assert_eq!(guard.run(async { 8 }).await, Err(loss), "nothing is done without the lock");
}

pub(crate) async fn what_somebody_else_gives_back_is_lost(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    world.client.release(&guard.id()).await.unwrap();
    let loss = guard.lost().await;
    assert!(matches!(loss, Loss::Taken { state: State::Released, .. }), "{loss}");
    assert!(guard.release().await.is_err());
}

pub(crate) async fn a_program_that_was_stopped_knows_that_it_lost(world: World) {
    let guard = world.client.lock("dock").lease(SHORT).await.unwrap();
    let (id, fence) = (guard.id(), guard.fence());
    // This is the only thread of the runtime: nothing is renewed, as if the program were stopped.
    while !world.hub.look(&id).unwrap().state.is_over() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(guard.is_lost(), "known before anything was sent or received");
    let next = world.client.lock("dock").await.unwrap();
    assert!(next.fence() > fence);
    guard.lost().await;
    assert!(guard.release().await.is_err());
    assert!(!next.is_lost(), "the loser's farewell does not concern the next one");
}

pub(crate) async fn a_grant_without_a_guard_is_renewed_and_released_by_its_id(world: World) {
    let info = world.client.lock("dock").id("mine").lease(SHORT).unguarded().await.unwrap();
    assert_eq!((info.id.as_str(), info.state, info.lease_ms), ("mine", State::Granted, 300));
    let longer = world.client.renew("mine", Some(Duration::from_secs(60))).await.unwrap();
    assert_eq!((longer.state, longer.lease_ms), (State::Granted, 60_000));
    assert_eq!(world.client.requests().await.unwrap().len(), 1);
    for _ in 0..2 {
        assert_eq!(world.client.release("mine").await.unwrap().state, State::Released);
    }
    assert_eq!(
        world.client.renew("mine", None).await.unwrap().state,
        State::Released,
        "the answer tells that it is over"
    );

    let lost = world.client.lock("dock").id("other").lease(SHORT).unguarded().await.unwrap();
    until("nobody renewed it", async || world.client.request(&lost.id).await.unwrap().state == State::Expired).await;
    assert_eq!(world.client.release("other").await.unwrap().state, State::Expired);
}

pub(crate) async fn renewing_goes_on_when_its_runtime_is_gone(world: World) {
    let client = world.client.clone();
    // Beside this runtime, which has connections of the client to drive.
    let first = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let guard = runtime.block_on(client.lock("dock").lease(Duration::from_secs(3)).into_future());
        guard.unwrap() // and the runtime is dropped, with everything that ran on it
    });
    let first = first.await.unwrap();
    let second = world.client.lock("crane").lease(SHORT).await.unwrap();
    let (old, new) = (first.expires(), second.expires());
    until("both are renewed", async || first.expires() > old && second.expires() > new).await;
    assert!(!first.is_lost() && !second.is_lost());
}
