//! What `Protocol::is_stale` promises, looked at in every state: a message that was stale once does nothing when it arrives,
//! however late.

use std::collections::{BTreeSet, VecDeque};

use crate::action::Action;
use crate::explore::Search;
use crate::model::Model;
use crate::space::{Applied, Space};
use crate::suite::{self, Expected};
use crate::trial::Way;

/// A state without reduction, and for each channel which of its messages have ever been stale, as bits.
type Marked = (Box<[u32]>, Box<[u64]>);

fn mark(space: &mut Space, row: &[u32], marks: &mut [u64]) {
    for (place, marks) in marks.iter_mut().enumerate() {
        let channel = space.layout.channels[place];
        let content: Vec<u32> = space.channels.iter(row[space.layout.channel(place)]).collect();
        for (at, message) in content.into_iter().enumerate() {
            if space.local.is_stale(row[channel.to.0 as usize], channel.from, message) {
                *marks |= 1 << at;
            }
        }
    }
}

fn without_place(marks: u64, place: u8) -> u64 {
    let below = (1 << place) - 1;
    marks & below | marks >> 1 & !below
}

/// Looks at the nearest states, up to so many.
fn explore(name: &str, model: Model, most: usize) {
    let mut space = Space::new(model, false, false).unwrap();
    let start = space.start();
    let mut marks = vec![0; space.layout.channels.len()].into_boxed_slice();
    mark(&mut space, &start, &mut marks);
    let mut seen: BTreeSet<Marked> = BTreeSet::new();
    let mut queue = VecDeque::new();
    seen.insert((start.clone(), marks.clone()));
    queue.push_back((start, marks));
    let mut next = vec![0; space.layout.width()];
    let mut actions = Vec::new();
    while let Some((row, marks)) = queue.pop_front() {
        actions.clear();
        space.enabled(&row, &mut actions);
        for action in &actions {
            let Ok(Applied::Made { .. }) = space.apply(&row, *action, &mut next) else { continue };
            let mut after = marks.clone();
            let mut before: Vec<Vec<u32>> =
                (0..marks.len()).map(|place| space.channels.iter(row[space.layout.channel(place)]).collect()).collect();
            if let Action::Deliver { channel, place } | Action::Lose { channel, place } = *action {
                let at = usize::from(channel);
                let was_stale = marks[at] >> place & 1 == 1;
                let message = before[at].remove(usize::from(place));
                after[at] = without_place(marks[at], place);
                if was_stale && matches!(action, Action::Deliver { .. }) {
                    let mut expected = row.clone();
                    let content = space.layout.channel(at);
                    expected[content] = next[content];
                    let message = space.local.message(message);
                    assert_eq!(
                        *expected, *next,
                        "{name}: {message:?} was stale, and then {action:?} changed something"
                    );
                }
            }
            for (place, before) in before.iter().enumerate() {
                let now: Vec<u32> = space.channels.iter(next[space.layout.channel(place)]).collect();
                if !now.starts_with(before) {
                    after[place] = 0;
                }
            }
            mark(&mut space, &next, &mut after);
            let state = (next.clone().into_boxed_slice(), after);
            if seen.insert(state.clone()) {
                queue.push_back(state);
                if seen.len() >= most {
                    return;
                }
            }
        }
    }
}

#[test]
fn what_was_stale_once_does_nothing_later() {
    let mut looked_at = 0;
    for entry in suite::standard() {
        let is_explored = matches!(entry.trial.way, Way::Explore { search: Search::BreadthFirst, .. });
        let model = entry.trial.spec.model().unwrap();
        let is_fit = is_explored && matches!(entry.expected, Expected::Holds { .. });
        if !is_fit || !model.fifo || model.workload.endless {
            continue;
        }
        explore(entry.name, model, 5_000);
        looked_at += 1;
    }
    assert!(looked_at > 80, "only {looked_at} models were looked at");
}
