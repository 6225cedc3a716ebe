//! How resources are made, changed and refused.

use std::collections::BTreeMap;

use meshlock_api::{NewRequest, Reason, State};

use super::super::Making;
use super::{Net, capacity, definition, semaphore, settings, wants};

#[test]
fn two_nodes_that_make_one_name_at_once_make_one_resource() {
    let mut net = Net::line(3);
    let (a, b) = (net.ask(0, wants("dock")), net.ask(2, wants("dock")));
    net.settle();
    let states = [net.state(0, a), net.state(2, b)];
    assert!(states.contains(&State::Granted) && states.contains(&State::Queued), "{states:?}");
}

#[test]
fn another_definition_of_a_name_is_refused_with_both_shown() {
    let mut net = Net::line(2);
    net.define(0, "gpus", semaphore(4));
    let refused = net.machines[1].define(net.now, "gpus", &semaphore(5)).expect_err("defined otherwise");
    assert_eq!(refused.reason, Reason::Conflict);
    assert!(refused.message.contains("capacity is 5 as wanted and 4 in this mesh"), "{refused}");
    assert!(matches!(net.machines[1].define(net.now, "gpus", &semaphore(4)), Ok(Making::Done(_))));
}

#[test]
fn what_files_declare_is_made_once_and_a_file_that_differs_is_told() {
    let declared = |capacity| BTreeMap::from([("gpus".to_owned(), definition(semaphore(capacity)))]);
    let mut net = Net::with_settings([4, 4, 5].into_iter().zip(0..).map(|(capacity, id)| {
        let mut settings = settings(id);
        settings.declared = declared(capacity);
        settings.declared_in = Some(format!("n{id}.toml"));
        settings
    }));
    net.link(0, 1);
    net.link(1, 2);
    net.settle();
    let capacities: Vec<u32> =
        net.machines.iter().map(|m| m.resource_info("gpus").expect("made").definition.capacity).collect();
    assert_eq!(capacities, [4, 4, 4]);
    let fine = net.ask(1, wants("gpus"));
    net.settle();
    assert_eq!(net.state(1, fine), State::Granted);
    let refused = net.machines[2].ask(net.now, wants("gpus")).expect_err("its file says otherwise");
    assert_eq!(refused.reason, Reason::Conflict);
    let logged = net.machines[2].take_notes().join("\n");
    for told in [&refused.message, &logged] {
        for part in ["node n2", "the file n2.toml", "capacity is 5 in the file and 4 in the mesh", "SIGHUP"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains('{'), "words, and no code: {told}");
    }
}

#[test]
fn without_the_registry_in_reach_making_waits_and_goes_on_when_it_comes() {
    let mut net = Net::new(2);
    let early = net.ask(1, wants("dock"));
    net.settle();
    assert_eq!(net.state(1, early), State::Queued);
    net.link(0, 1);
    net.settle();
    assert_eq!(net.state(1, early), State::Granted);
}

#[test]
fn a_mesh_can_forbid_making_on_first_use() {
    let mut strict = settings(0);
    strict.create_on_first_use = false;
    let mut net = Net::with_settings([strict]);
    let refused = net.machines[0].ask(net.now, wants("dock")).expect_err("not declared");
    assert_eq!(refused.reason, Reason::Unknown);
    net.define(0, "dock", semaphore(1));
    let ticket = net.ask(0, wants("dock"));
    assert_eq!(net.state(0, ticket), State::Granted);
}

#[test]
fn only_a_node_that_knows_all_resources_says_that_there_is_none() {
    let two = |name: &str| NewRequest { units: Some(2), ..wants(name) };
    let mut strict = settings(1);
    strict.create_on_first_use = false;
    let mut net = Net::with_settings([settings(0), strict, settings(2)]);
    net.define(0, "tank", semaphore(3));
    // They have just joined, and have heard of nothing.
    let (strict, early) = (net.ask(1, wants("tank")), net.ask(2, two("tank")));
    let (unknown, unclear) = (net.ask(1, wants("none")), net.ask(2, two("none")));
    net.settle();
    assert_eq!((net.state(1, strict), net.state(2, early)), (State::Queued, State::Queued));
    net.link(0, 1);
    net.link(1, 2);
    net.settle();
    assert_eq!((net.state(1, strict), net.state(2, early)), (State::Granted, State::Granted));
    assert_eq!((net.state(1, unknown), net.state(2, unclear)), (State::Rejected, State::Rejected));
    let reason = net.look(2, unclear).reason.expect("told");
    assert!(reason.contains("meshlock resource make none --capacity 2"), "{reason}");
    // Where the registry's token is, nothing needs to be waited for.
    let knows = net.machines.iter().position(|machine| machine.knows_all_resources()).expect("it is somewhere");
    let refused = net.machines[knows].ask(net.now, two("none")).expect_err("there is none");
    assert!(refused.message.contains("there is no resource \"none\""), "{refused}");
}

#[test]
fn who_cannot_make_a_resource_waits_for_one_who_can() {
    let mut net = Net::line(2);
    net.settle();
    // Asked at a node without the registry's token, one after the other.
    let unclear = net.ask(1, NewRequest { units: Some(2), ..wants("dock") });
    let clear = net.ask(1, wants("dock"));
    net.settle();
    assert_eq!(net.state(1, clear), State::Granted);
    assert_eq!(net.state(1, unclear), State::Rejected, "a mutex has no two units");
}

#[test]
fn capacity_can_be_raised_and_lowered_while_in_use() {
    let mut net = Net::line(3);
    net.define(0, "gpus", semaphore(2));
    let units = |units| NewRequest { units: Some(units), ..wants("gpus") };
    let two = net.ask(0, units(2));
    net.settle();
    let one = net.ask(2, units(1));
    net.settle();
    assert_eq!((net.state(0, two), net.state(2, one)), (State::Granted, State::Queued));
    net.machines[1].change(net.now, "gpus", capacity(3)).expect("accepted");
    net.settle();
    assert_eq!(net.state(2, one), State::Granted, "raised by a node that neither holds nor waits");
    let three = net.ask(1, units(3));
    net.settle();
    net.machines[2].change(net.now, "gpus", capacity(1)).expect("accepted");
    net.settle();
    assert_eq!(net.state(1, three), State::Rejected, "it can never be granted now");
    assert_eq!((net.state(0, two), net.state(2, one)), (State::Granted, State::Granted), "nobody is thrown out");
    let next = net.ask(1, units(1));
    net.release(2, one);
    net.settle();
    assert_eq!(net.state(1, next), State::Queued, "two are still in use and one is allowed");
    net.release(0, two);
    net.settle();
    assert_eq!(net.state(1, next), State::Granted);
    let versions: Vec<u64> = net.machines.iter().map(|m| m.resource_info("gpus").expect("known").version).collect();
    assert_eq!(versions, [3, 3, 3], "the fence of the registry's grant");
}
