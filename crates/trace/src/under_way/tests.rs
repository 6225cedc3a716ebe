use meshlock_core::{Delay, Timer};

use super::*;

const ANN: NodeId = NodeId(0);
const BOB: NodeId = NodeId(1);

fn up(way: &mut UnderWay, at: NodeId, neighbour: NodeId) {
    assert_eq!(way.happens::<u8>(at, &Event::LinkUp { neighbour }), Ok(None));
}

fn down(way: &mut UnderWay, at: NodeId, neighbour: NodeId) {
    assert_eq!(way.happens::<u8>(at, &Event::LinkDown { neighbour }), Ok(None));
}

/// Ann sends to Bob.
fn sends(way: &mut UnderWay, message: u8, line: u64) {
    way.effect(ANN, &Effect::Send { to: BOB, message }, line);
}

/// Bob receives from Ann.
fn receives(way: &mut UnderWay, message: u8) -> Result<Option<u64>, Unexplained> {
    way.happens(BOB, &Event::Receive { from: ANN, message })
}

fn linked() -> UnderWay {
    let mut way = UnderWay::new();
    up(&mut way, ANN, BOB);
    up(&mut way, BOB, ANN);
    way
}

#[test]
fn messages_arrive_in_the_order_of_sending() {
    let mut way = linked();
    for (message, line) in [(7, 2), (8, 3), (7, 4)] {
        sends(&mut way, message, line);
    }
    assert_eq!(receives(&mut way, 8), Err(Unexplained::OutOfOrder { from: ANN, to: BOB, next: 2 }));
    assert_eq!(receives(&mut way, 7), Ok(Some(2)));
    assert_eq!(receives(&mut way, 8), Ok(Some(3)));
    assert_eq!(receives(&mut way, 7), Ok(Some(4)));
    assert_eq!(receives(&mut way, 7), Err(Unexplained::NeverSent { from: ANN, to: BOB }));
}

#[test]
fn where_messages_may_overtake_each_other_they_need_only_be_sent() {
    let mut way = UnderWay::unordered();
    up(&mut way, ANN, BOB);
    sends(&mut way, 7, 2);
    sends(&mut way, 8, 3);
    assert_eq!(receives(&mut way, 8), Ok(Some(3)));
    assert_eq!(receives(&mut way, 7), Ok(Some(2)));
    assert_eq!(receives(&mut way, 7), Err(Unexplained::NeverSent { from: ANN, to: BOB }));
}

#[test]
fn what_was_lost_does_not_arrive() {
    let mut way = linked();
    sends(&mut way, 7, 2);
    sends(&mut way, 8, 3);
    way.lost(ANN, BOB, &7u8, Some(2));
    assert_eq!(receives(&mut way, 8), Ok(Some(3)));
}

#[test]
fn nothing_of_an_earlier_link_arrives_over_a_later_one() {
    let mut way = linked();
    sends(&mut way, 7, 2);
    sends(&mut way, 8, 3);
    assert_eq!(receives(&mut way, 7), Ok(Some(2)));
    for (at, of) in [(ANN, BOB), (BOB, ANN)] {
        down(&mut way, at, of);
        up(&mut way, at, of);
    }
    sends(&mut way, 9, 8);
    assert!(receives(&mut way, 8).is_err());
    assert_eq!(receives(&mut way, 9), Ok(Some(8)));
}

#[test]
fn a_link_that_only_the_sender_saw_does_no_harm() {
    let mut way = UnderWay::new();
    // Ann greets twice in the same words; Bob hears the second greeting only, and what follows it.
    for lines in [[2, 3], [5, 6]] {
        up(&mut way, ANN, BOB);
        sends(&mut way, 7, lines[0]);
        sends(&mut way, if lines[0] == 2 { 8 } else { 9 }, lines[1]);
        down(&mut way, ANN, BOB);
    }
    up(&mut way, BOB, ANN);
    assert!(receives(&mut way, 7).is_ok());
    assert_eq!(receives(&mut way, 9), Ok(Some(6)));
}

#[test]
fn what_is_sent_without_a_link_does_not_arrive() {
    let mut way = linked();
    down(&mut way, ANN, BOB);
    sends(&mut way, 7, 4);
    assert_eq!(receives(&mut way, 7), Err(Unexplained::NeverSent { from: ANN, to: BOB }));
}

#[test]
fn a_timer_runs_out_once() {
    let mut way = UnderWay::new();
    let (timer, after) = (Timer { epoch: 3 }, Delay { least_ms: 1, most_ms: 2 });
    way.effect::<u8>(ANN, &Effect::Arm { timer, after }, 2);
    assert_eq!(way.happens::<u8>(ANN, &Event::Expired { timer }), Ok(Some(2)));
    let again = way.happens::<u8>(ANN, &Event::Expired { timer });
    assert_eq!(again, Err(Unexplained::NotArmed { node: ANN, epoch: 3 }));
}
