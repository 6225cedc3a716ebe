//! Who waits.

use std::time::Duration;

use meshlock::Error;
use meshlock::api::State;

use super::{World, until};

pub(crate) async fn trying_fails_while_somebody_holds(world: World) {
    let guard = world.client.lock("dock").try_lock().await.unwrap().unwrap();
    assert!(world.client.lock("dock").try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
    assert!(world.client.lock("dock").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_dropped_future_cancels_its_request(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    let waiting = tokio::spawn(world.client.lock("dock").into_future());
    world.until_waiting("dock", 1).await;
    waiting.abort();
    world.until_waiting("dock", 0).await;
    guard.release().await.unwrap();
    world.until_held("dock", 0).await;
}

pub(crate) async fn waiting_ends_with_the_timeout(world: World) {
    let _guard = world.client.lock("dock").await.unwrap();
    let patience = Duration::from_millis(50);
    let error = world.client.lock("dock").timeout(patience).await.unwrap_err();
    assert!(matches!(&error, Error::TimedOut { after, .. } if *after >= patience), "{error}");
    assert!(error.to_string().contains("meshlock status dock"), "{error}");
    world.until_waiting("dock", 0).await;
}

pub(crate) async fn the_more_urgent_goes_first(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    let low = tokio::spawn(world.client.lock("dock").priority(1).into_future());
    world.until_waiting("dock", 1).await;
    let high = tokio::spawn(world.client.lock("dock").priority(7).into_future());
    world.until_waiting("dock", 2).await;
    guard.release().await.unwrap();
    let high = high.await.unwrap().unwrap();
    assert!(!low.is_finished());
    high.release().await.unwrap();
    low.await.unwrap().unwrap().release().await.unwrap();
}

pub(crate) async fn a_waiting_request_outlives_its_lease(world: World) {
    let guard = world.client.lock("dock").await.unwrap();
    let lease = Duration::from_millis(150);
    let waiting = tokio::spawn(world.client.lock("dock").id("patient").lease(lease).into_future());
    world.until_waiting("dock", 1).await;
    let long = async || world.client.request("patient").await.unwrap().waited_ms > 450;
    until("it has waited three leases", long).await;
    guard.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    assert!(guard.expires() > std::time::Instant::now(), "with a lease that has just begun");
    guard.release().await.unwrap();
}

pub(crate) async fn a_place_in_the_queue_is_told(world: World) {
    let _guard = world.client.lock("dock").await.unwrap();
    let _first = tokio::spawn(world.client.lock("dock").priority(9).into_future());
    world.until_waiting("dock", 1).await;
    let _second = tokio::spawn(world.client.lock("dock").id("second").into_future());
    world.until_waiting("dock", 2).await;
    let place = world.client.request("second").await.unwrap().place.unwrap();
    assert_eq!((place.ahead, place.exact), (1, true));
}

pub(crate) async fn a_cancelled_request_is_an_error_to_who_waits(world: World) {
    let _guard = world.client.lock("dock").await.unwrap();
    let waiting = tokio::spawn(world.client.lock("dock").id("cancelled").into_future());
    world.until_waiting("dock", 1).await;
    world.client.release("cancelled").await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(&error, Error::Over(info) if info.state == State::Released), "{error}");
}
