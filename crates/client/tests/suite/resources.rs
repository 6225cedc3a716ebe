//! What can be locked.

use meshlock::Error;
use meshlock::api::{Kind, NewResource, Reason, ResourceChange, State, What};

use super::World;

fn semaphore(capacity: u32) -> NewResource {
    NewResource { capacity: Some(capacity), ..NewResource::default() }
}

fn of_kind(kind: Kind) -> NewResource {
    NewResource { kind: Some(kind), ..NewResource::default() }
}

fn reason(error: &Error) -> Reason {
    let Error::Refused(problem) = error else { panic!("not a refusal: {error}") };
    problem.reason
}

pub(crate) async fn units_are_counted(world: World) {
    let made = world.client.define("gpu", semaphore(3)).await.unwrap();
    assert_eq!((made.definition.kind, made.definition.capacity), (Kind::Semaphore, 3));
    let two = world.client.lock("gpu").units(2).await.unwrap();
    assert!(world.client.lock("gpu").units(2).try_lock().await.unwrap().is_none());
    let one = world.client.lock("gpu").try_lock().await.unwrap().unwrap();
    assert_eq!(world.client.status().await.unwrap().resources[0].in_use, 3);
    for guard in [two, one] {
        guard.release().await.unwrap();
    }
    assert_eq!(world.client.set_capacity("gpu", 5).await.unwrap().definition.capacity, 5);
    assert_eq!(world.client.resources().await.unwrap().len(), 1);
}

pub(crate) async fn a_guard_knows_which_units_it_has(world: World) {
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
    let named = NewResource { slots: Some(names.clone()), ..NewResource::default() };
    world.client.define("gpu", named).await.unwrap();
    let two = world.client.lock("gpu").units(2).await.unwrap();
    let one = world.client.lock("gpu").await.unwrap();
    assert_eq!((two.slots(), two.slot_names()), (&[0, 1][..], &names[..2]));
    assert_eq!((one.slots(), one.slot_names()), (&[2][..], &names[2..]));
    let status = world.client.query("gpu").await.unwrap();
    assert_eq!(status.holders.iter().map(|row| row.slots.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
    let dock = world.client.lock("dock").await.unwrap();
    assert!(dock.slots().is_empty() && dock.slot_names().is_empty(), "a mutex has no units");
    let slots = Some(["a", "b", "c", "d"].map(str::to_owned).into());
    let more = world.client.change_as("gpu", ResourceChange { slots, ..ResourceChange::default() }).await.unwrap();
    assert_eq!((more.definition.capacity, more.definition.slots.len()), (4, 4));
}

pub(crate) async fn more_units_than_there_are_is_refused(world: World) {
    world.client.define("gpu", semaphore(3)).await.unwrap();
    let error = world.client.lock("gpu").units(4).await.unwrap_err();
    assert_eq!(reason(&error), Reason::Conflict);
    assert!(error.to_string().contains('3'), "{error}");
}

pub(crate) async fn the_same_session_is_attended_together(world: World) {
    world.client.define("room", of_kind(Kind::Sessions)).await.unwrap();
    let first = world.client.session("room", "red").await.unwrap();
    let second = world.client.session("room", "red").await.unwrap();
    assert_eq!(first.session(), Some("red"));
    let blue = tokio::spawn(world.client.session("room", "blue").into_future());
    world.until_waiting("room", 1).await;
    drop(first);
    second.release().await.unwrap();
    blue.await.unwrap().unwrap().release().await.unwrap();
}

pub(crate) async fn readers_read_together_and_writers_write_alone(world: World) {
    world.client.define("map", of_kind(Kind::ReadersWriter)).await.unwrap();
    let readers = [world.client.read("map").await.unwrap(), world.client.lock("map").read().await.unwrap()];
    let writer = tokio::spawn(world.client.write("map").into_future());
    world.until_waiting("map", 1).await;
    drop(readers);
    let writer = writer.await.unwrap().unwrap();
    assert!(world.client.read("map").try_lock().await.unwrap().is_none());
    writer.release().await.unwrap();
}

pub(crate) async fn another_definition_is_refused(world: World) {
    world.client.define("gpu", semaphore(3)).await.unwrap();
    world.client.define("gpu", semaphore(3)).await.unwrap();
    let error = world.client.define("gpu", semaphore(4)).await.unwrap_err();
    assert_eq!(reason(&error), Reason::Conflict);
}

pub(crate) async fn events_tell_what_happens(world: World) {
    drop(world.client.lock("other").await.unwrap());
    drop(world.client.lock("dock").await.unwrap());
    world.until_held("dock", 0).await;
    let mut events = world.client.events_of("dock").await.unwrap();
    drop(world.client.lock("other").await.unwrap());
    world.client.lock("dock").id("seen").await.unwrap().release().await.unwrap();
    let mut states = Vec::new();
    while states.last() != Some(&State::Released) {
        let event = events.next().await.unwrap().unwrap();
        if let What::Request { request } = event.what {
            assert_eq!((request.resource.as_str(), request.id.as_str()), ("dock", "seen"));
            states.push(request.state);
        }
    }
    states.dedup();
    assert_eq!(states, [State::Granted, State::Released]);
}

pub(crate) async fn unknown_requests_are_refused(world: World) {
    for error in [
        world.client.release("nobody").await.unwrap_err(),
        world.client.renew("nobody", None).await.unwrap_err(),
        world.client.request("no/body?").await.unwrap_err(),
    ] {
        assert_eq!(reason(&error), Reason::Unknown);
    }
    assert_eq!(reason(&world.client.query("nothing").await.unwrap_err()), Reason::Unknown);
}

pub(crate) async fn nonsense_is_refused(world: World) {
    drop(world.client.lock("dock").await.unwrap());
    for wish in [
        world.client.lock("a b"),
        world.client.lock(""),
        world.client.lock("dock").units(0),
        world.client.lock("dock").lease(std::time::Duration::ZERO),
    ] {
        assert_eq!(reason(&wish.await.unwrap_err()), Reason::BadRequest);
    }
}
