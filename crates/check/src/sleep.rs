//! Steps that need not be made, because they lead where another order of the same steps has led already: sleep sets.
//!
//! Two steps at different nodes commute if at least one of them is light: it changes nodes and channels only, neither the
//! world around them nor the history. If `a` was made in a state before `b` and the two commute, then `a` need not be made
//! after `b`: it sleeps there, until a step is made that does not commute with it. A state that is reached in several ways,
//! all of the same length, lets only sleep what sleeps on all of them.
//!
//! Breadth first, this changes nothing but the time: a state is found first by the least of its shortest runs, in the
//! order in which steps are tried, and no step of that run sleeps. If one did, it could be moved before an earlier one that
//! comes later in that order, and the run would not be the least. So states, their order, the first way to each and
//! every counterexample stay the same. A step that sleeps would be a step like the earlier one, so what is wrong with it was
//! found there. See docs/checking.md.

use crate::action::Action;
use crate::layout::Layout;
use crate::model::Model;

/// The steps that sleep in a state, as bits; see [`Beds`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sleep {
    steps: u64,
    /// Those of them that are light.
    light: u64,
}

impl Sleep {
    pub(crate) const fn has(self, bed: Bed) -> bool {
        self.steps >> bed.bit & 1 == 1
    }

    /// The same after another way to this state.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self { steps: self.steps & other.steps, light: self.light & other.light }
    }

    /// Once this step was made, it need not be made again.
    pub(crate) const fn add(&mut self, bed: Bed, light: bool) {
        self.steps |= 1 << bed.bit;
        self.light |= (light as u64) << bed.bit;
    }

    /// What sleeps after a step of this node.
    pub(crate) const fn after(self, beds_of_node: u64, light: bool) -> Self {
        let commuting = if light { self.steps } else { self.light };
        let steps = commuting & !beds_of_node;
        Self { steps, light: self.light & steps }
    }
}

/// The bit of a step that may sleep, and its node.
#[derive(Clone, Copy)]
pub(crate) struct Bed {
    bit: u32,
    node: usize,
}

/// Which steps may sleep: what arrives at the head of a channel, the release of the first grant of a node, and a request
/// with the first demand. The others depend on what is under way, or change what others depend on.
pub(crate) struct Beds {
    receivers: Vec<usize>,
    of_node: Vec<u64>,
}

const CHANNELS: usize = 48;
const NODES: usize = 8;

impl Beds {
    /// `None` where places of channels or numbers do not stay the same, where requests wait for channels to empty, and for
    /// members that recover: `recovery-group/line-3-fenced` lost four of 37,474 states.
    pub(crate) fn of(model: &Model, layout: &Layout, canonical: bool) -> Option<Self> {
        if canonical || !model.fifo || model.workload.patience.is_some() || model.recovers() {
            return None;
        }
        let receivers: Vec<usize> = layout.channels.iter().map(|channel| channel.to.0 as usize).collect();
        let bits_of = |node: usize| {
            let channels = receivers.iter().take(CHANNELS).enumerate().filter(|(_, receiver)| **receiver == node);
            let arrivals = channels.fold(0, |bits, (channel, _)| bits | 1 << channel);
            let own = if node < NODES { 1 << (CHANNELS + node) | 1 << (CHANNELS + NODES + node) } else { 0 };
            arrivals | own
        };
        let of_node = (0..layout.nodes).map(bits_of).collect();
        Some(Self { receivers, of_node })
    }

    pub(crate) fn bed(&self, action: Action) -> Option<Bed> {
        let (place, node) = match action {
            Action::Deliver { channel, place: 0 } => {
                let channel = usize::from(channel);
                (Some(channel).filter(|channel| *channel < CHANNELS)?, self.receivers[channel])
            }
            Action::Release { node, place: 0 } => (CHANNELS + own_bit(node)?, node.into()),
            Action::Request { node, demand: 0 } => (CHANNELS + NODES + own_bit(node)?, node.into()),
            Action::Deliver { .. }
            | Action::Release { .. }
            | Action::Request { .. }
            | Action::Notice { .. }
            | Action::Expire { .. }
            | Action::ExpireEarly { .. }
            | Action::Cancel { .. }
            | Action::Reprioritize { .. }
            | Action::Cut { .. }
            | Action::Form { .. }
            | Action::Lose { .. }
            | Action::Resize { .. }
            | Action::Learn { .. }
            | Action::Leave { .. }
            | Action::Stop { .. }
            | Action::Start { .. }
            | Action::Member { .. } => return None,
        };
        Some(Bed { bit: u32::try_from(place).ok()?, node })
    }

    /// What sleeps after a step, if `known` are the steps that need not be made again in the state before it.
    pub(crate) fn after(&self, known: Sleep, bed: Option<Bed>, light: bool) -> Sleep {
        bed.map_or_else(Sleep::default, |bed| known.after(self.of_node[bed.node], light))
    }
}

fn own_bit(node: u8) -> Option<usize> {
    Some(usize::from(node)).filter(|node| *node < NODES)
}

/// What sleeps in the states of two levels: the one that is being expanded and the next.
pub(crate) struct Sleepers {
    pub(crate) beds: Beds,
    here: Vec<Sleep>,
    here_from: u32,
    next: Vec<Sleep>,
    next_from: u32,
}

impl Sleepers {
    /// In the first state nothing sleeps.
    pub(crate) fn new(beds: Beds) -> Self {
        Self { beds, here: vec![Sleep::default()], here_from: 0, next: Vec::new(), next_from: 1 }
    }

    pub(crate) fn in_state(&self, state: u32) -> Sleep {
        self.here[(state - self.here_from) as usize]
    }

    /// A step leads to this state, in which this sleeps as far as the step knows.
    pub(crate) fn reached(&mut self, state: u32, new: bool, sleep: Sleep) {
        if new {
            self.next.push(sleep);
        } else if let Some(place) = state.checked_sub(self.next_from) {
            let known = &mut self.next[place as usize];
            *known = known.and(sleep);
        }
    }

    /// The next level begins.
    pub(crate) fn next_level(&mut self) {
        self.here_from = self.next_from;
        self.next_from += u32::try_from(self.next.len()).unwrap_or(u32::MAX);
        std::mem::swap(&mut self.here, &mut self.next);
        self.next.clear();
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.here.capacity() + self.next.capacity()) * size_of::<Sleep>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DeskBug, desk};

    fn beds() -> Beds {
        let model = desk(3, 1, DeskBug::None);
        let layout = Layout::of(&model);
        Beds::of(&model, &layout, false).unwrap()
    }

    fn bed(action: Action) -> Bed {
        beds().bed(action).unwrap()
    }

    #[test]
    fn what_commutes_goes_on_sleeping() {
        // A star: channel 0 leads from the desk to node 1, channel 2 to node 2.
        let [one, two] = [0, 2].map(|channel| bed(Action::Deliver { channel, place: 0 }));
        assert_eq!((one.node, two.node), (1, 2));
        let after = |first_light, second_light| {
            let mut known = Sleep::default();
            known.add(one, first_light);
            beds().after(known, Some(two), second_light).has(one)
        };
        assert!(after(true, true) && after(true, false) && after(false, true));
        assert!(!after(false, false), "both of them change the world");
    }

    #[test]
    fn steps_of_one_node_and_steps_of_the_world_wake_up_what_sleeps() {
        let mut known = Sleep::default();
        let one = bed(Action::Deliver { channel: 0, place: 0 });
        known.add(one, true);
        let request = bed(Action::Request { node: 1, demand: 0 });
        assert!(!beds().after(known, Some(request), true).has(one), "it is at the same node");
        assert!(beds().bed(Action::Cut { link: 0 }).is_none());
        assert!(!beds().after(known, None, true).has(one));
    }

    #[test]
    fn only_what_sleeps_on_every_way_sleeps() {
        let [one, two] = [0, 2].map(|channel| bed(Action::Deliver { channel, place: 0 }));
        let (mut first, mut second) = (Sleep::default(), Sleep::default());
        first.add(one, true);
        first.add(two, true);
        second.add(two, false);
        let both = first.and(second);
        assert!(!both.has(one) && both.has(two));
        assert_eq!(both.light, 0);
    }

    #[test]
    fn nothing_sleeps_where_places_change() {
        let mut model = desk(3, 1, DeskBug::None);
        let layout = Layout::of(&model);
        assert!(Beds::of(&model, &layout, true).is_none());
        model.fifo = false;
        assert!(Beds::of(&model, &layout, false).is_none());
        model.fifo = true;
        model.workload.patience = Some(0);
        assert!(Beds::of(&model, &layout, false).is_none());
    }
}
