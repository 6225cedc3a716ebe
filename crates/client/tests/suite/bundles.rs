//! Several resources, all or none.

use std::time::Duration;

use meshlock::api::{NewResource, Reason, State};
use meshlock::{Error, Loss, Part};

use super::{World, until};

const PATIENT: Duration = Duration::from_secs(60);

pub(crate) async fn all_are_held_under_one_guard(world: World) {
    let lifts = NewResource { capacity: Some(3), ..NewResource::default() };
    world.client.define("lifts", lifts).await.unwrap();
    let guard = world.client.lock_all([Part::of("lifts").units(2), "dock".into()]).owner("ann").await.unwrap();
    assert_eq!(guard.name(), "lifts + dock");
    let parts: Vec<_> = guard.parts().iter().map(|part| (part.resource.as_str(), part.units, part.state)).collect();
    assert_eq!(parts, [("lifts", 2, State::Granted), ("dock", 1, State::Granted)]);
    assert!(guard.part("dock").unwrap().fence.is_some() && guard.part("crane").is_none());
    assert_eq!(guard.part("lifts").unwrap().slots, [0, 1]);
    let fence = guard.part("dock").unwrap().fence;
    assert!(world.client.lock("dock").try_lock().await.unwrap().is_none());
    assert_eq!(guard.run(async { 7 }).await, Ok(7));
    guard.release().await.unwrap();
    let next = world.client.lock_all(["dock", "lifts"]).timeout(PATIENT).await.unwrap();
    assert!(next.part("dock").unwrap().fence > fence);
    drop(next);
    world.until_held("dock", 0).await;
    world.until_held("lifts", 0).await;
}

pub(crate) async fn it_is_renewed_as_one_and_a_loss_is_one(world: World) {
    let short = Duration::from_millis(300);
    let guard = world.client.lock_all(["a", "b"]).lease(short).await.unwrap();
    let before = std::time::Instant::now();
    until("three leases have passed", async || guard.expires() >= before + short * 3).await;
    assert!(!guard.is_lost());
    let ticket = world.hub.find(&guard.id()).unwrap();
    world.hub.with(|machine, now| machine.revoke(now, ticket, "the crane needs it"));
    assert_eq!(guard.lost().await, Loss::Taken { state: State::Revoked, reason: Some("the crane needs it".into()) });
    assert!(guard.is_lost());
    let error = guard.release().await.unwrap_err();
    assert!(matches!(&error, Error::Over(info) if info.parts.len() == 2), "{error}");
}

pub(crate) async fn no_longer_waited_for_it_leaves_nothing_behind(world: World) {
    let blocker = world.client.lock("b").await.unwrap();
    let error = world.client.lock_all(["b", "a"]).timeout(Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(&error, Error::TimedOut { resource, .. } if resource == "b + a"), "{error}");
    world.until_held("a", 0).await;
    let waiting = tokio::spawn(world.client.lock_all(["b", "a"]).into_future());
    world.until_held("a", 1).await;
    world.until_waiting("b", 1).await;
    waiting.abort();
    world.until_held("a", 0).await;
    world.until_waiting("b", 0).await;
    blocker.release().await.unwrap();
}

pub(crate) async fn what_cannot_be_is_refused_with_the_reason(world: World) {
    let refused = world.client.lock_all(["a", "a"]).await.unwrap_err();
    assert!(matches!(&refused, Error::Refused(problem) if problem.reason == Reason::BadRequest), "{refused}");
    let refused = world.client.lock_all([Part::of("a"), Part::of("b").units(2)]).await.unwrap_err();
    assert!(refused.to_string().contains("meshlock resource make b --capacity 2"), "{refused}");
    let none: [&str; 0] = [];
    assert!(world.client.lock_all(none).await.is_err());
}
