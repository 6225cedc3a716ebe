//! Which units a client gets: their numbers and names, over resizes, stops and upgrades.

use meshlock_api::resource::MOST_NUMBERED;
use meshlock_api::{NewRequest, NewResource, Reason, ResourceChange, State};

use super::super::{Machine, Ticket};
use super::{Net, capacity, semaphore, settings, wants};

fn units(units: u32) -> NewRequest {
    NewRequest { units: Some(units), ..wants("gpus") }
}

fn named(names: &[&str]) -> NewResource {
    NewResource { slots: Some(list(names)), ..NewResource::default() }
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn granted(net: &mut Net, at: usize, asked: u32) -> (Ticket, Vec<u32>) {
    let ticket = net.ask(at, units(asked));
    net.settle();
    assert_eq!(net.state(at, ticket), State::Granted);
    (ticket, net.look(at, ticket).slots)
}

#[test]
fn clients_are_told_which_units_they_have() {
    let mut net = Net::line(2);
    net.define(0, "gpus", semaphore(4));
    let (two, first) = granted(&mut net, 0, 2);
    let (_, next) = granted(&mut net, 1, 1);
    assert_eq!((first, next), (vec![0, 1], vec![2]));
    let waiting = net.ask(1, units(2));
    assert_eq!(net.look(1, waiting).slots, [0; 0]);
    net.release(0, two);
    net.settle();
    assert_eq!(net.look(1, waiting).slots, [0, 1]);
    let (_, last) = granted(&mut net, 0, 1);
    assert_eq!(last, [3]);
    let rows = &net.machines[0].resource_info("gpus").expect("made").definition.slots;
    assert!(rows.is_empty() && net.look(1, waiting).slot_names.is_empty(), "they have no names");
}

#[test]
fn mutexes_sessions_and_readers_have_no_numbers() {
    let mut net = Net::line(1);
    let held = net.ask(0, wants("dock"));
    assert_eq!((net.state(0, held), net.look(0, held).slots), (State::Granted, vec![]));
}

#[test]
fn names_are_told_with_the_numbers_and_only_ever_added() {
    let mut net = Net::line(2);
    net.define(0, "gpus", named(&["a", "b"]));
    let (held, _) = granted(&mut net, 1, 2);
    assert_eq!(net.look(1, held).slot_names, ["a", "b"]);
    let change = |names: &[&str]| ResourceChange { slots: Some(list(names)), ..ResourceChange::default() };
    for wrong in [&["b", "a", "c"][..], &["a"], &[]] {
        let refused = net.machines[0].change(net.now, "gpus", change(wrong)).expect_err("the holder has a and b");
        assert_eq!(refused.reason, Reason::Conflict);
        assert!(refused.message.contains("a,b") && refused.message.contains("new names after them"), "{refused}");
    }
    let beyond = net.machines[0].change(net.now, "gpus", capacity(3)).expect_err("the third has no name");
    assert!(beyond.message.contains("name all of them"), "{beyond}");
    net.machines[0].change(net.now, "gpus", change(&["a", "b", "c"])).expect("accepted");
    net.settle();
    let (more, slots) = granted(&mut net, 0, 1);
    assert_eq!((slots, net.look(0, more).slot_names), (vec![2], list(&["c"])));
}

#[test]
fn a_removed_unit_is_given_out_no_more() {
    let mut net = Net::line(2);
    net.define(0, "gpus", semaphore(3));
    let (first, _) = granted(&mut net, 0, 1);
    let (_, slots) = granted(&mut net, 1, 2);
    assert_eq!(slots, [1, 2]);
    net.machines[0].change(net.now, "gpus", capacity(2)).expect("accepted");
    net.settle();
    net.release(0, first);
    let next = net.ask(0, units(1));
    net.settle();
    assert_eq!(net.state(0, next), State::Queued, "both units of two are in use, one of them is removed");
}

#[test]
fn beyond_the_limit_units_are_counted_and_below_it_numbered_again() {
    let mut net = Net::line(2);
    net.define(0, "gpus", semaphore(MOST_NUMBERED));
    let (all, slots) = granted(&mut net, 1, MOST_NUMBERED);
    assert_eq!(slots, (0..MOST_NUMBERED).collect::<Vec<_>>());
    net.machines[0].change(net.now, "gpus", capacity(MOST_NUMBERED + 1)).expect("accepted");
    net.settle();
    let (one, none) = granted(&mut net, 0, 1);
    assert_eq!(none, [0; 0]);
    assert_eq!(net.look(1, all).slots.len(), MOST_NUMBERED as usize, "it keeps what it has");
    net.machines[0].change(net.now, "gpus", capacity(2)).expect("accepted");
    net.settle();
    net.release(1, all);
    net.settle();
    let (_, slots) = granted(&mut net, 1, 1);
    assert_eq!(slots, [0], "one of two is in use without a number");
    net.release(0, one);
    net.settle();
    let (_, slots) = granted(&mut net, 0, 1);
    assert_eq!(slots, [1]);
}

#[test]
fn a_grant_that_is_kept_over_a_stop_keeps_its_units() {
    let mut net = Net::line(1);
    net.define(0, "gpus", named(&["a", "b", "c"]));
    let (first, _) = granted(&mut net, 0, 1);
    let (held, _) = granted(&mut net, 0, 1);
    net.release(0, first);
    net.machines[0].stop(net.now);
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("what was saved");
    let info = net.look(0, held);
    assert_eq!((info.slots, info.slot_names), (vec![1], list(&["b"])));
    let (_, slots) = granted(&mut net, 0, 2);
    assert_eq!(slots, [0, 2], "the ledger kept it, too");
}

#[test]
fn a_semaphore_that_a_former_version_saved_is_numbered_from_now_on() {
    let mut net = Net::line(1);
    net.define(0, "gpus", semaphore(3));
    let (_, slots) = granted(&mut net, 0, 1);
    assert_eq!(slots, [0]);
    net.machines[0].stop(net.now);
    let saved = String::from_utf8(net.machines[0].save()).expect("JSON");
    let former = saved.replace(",\"numbered\":true", "").replace(",\"slots\":[[0,1]]", "").replace(",\"slots\":[]", "");
    assert!(former.len() + 60 < saved.len(), "{saved}");
    net.machines[0] = Machine::resume(settings(0), former.as_bytes()).expect("of a former version");
    let (_, slots) = granted(&mut net, 0, 2);
    assert_eq!(slots, [0, 1], "one unit is in use without a number");
}
