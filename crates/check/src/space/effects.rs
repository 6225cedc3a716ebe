//! What a node wants done, put into effect: messages into channels, grants into the history, timers into the world.

use meshlock_core::NodeId;
use meshlock_properties::{Occurrence, Violation};

use super::turn::Turn;
use super::{Noted, Space, Vanished};
use crate::counterexample::Fate;
use crate::environment::LinkState;
use crate::finding::Finding;
use crate::local::{LocalEffect, LocalStep};

impl Space {
    /// Puts a local step into effect.
    pub(super) fn finish(&mut self, turn: &mut Turn<'_>, node: NodeId, step: LocalStep) -> Result<(), Finding> {
        let place = node.0 as usize;
        let before = turn.next[place];
        if before != step.after {
            turn.next[place] = step.after;
            turn.changed |= 1 << place;
            self.note_decision(turn, node, before, step.after)?;
        }
        let mut at = 0;
        let mut rejected = None;
        while let Some(effect) = self.local.effect(step, at) {
            at += 1;
            match effect {
                LocalEffect::Send { to, message } => self.send(turn, place, to, message)?,
                LocalEffect::Broadcast { message } => {
                    for channel in 0..self.layout.channels.len() {
                        if self.layout.channels[channel].from != node {
                            continue;
                        }
                        match self.carries(turn, channel) {
                            Carries::Yes => self.push(turn, channel, message)?,
                            Carries::Swallows => self.note_swallowed(channel, message),
                            Carries::No => {}
                        }
                    }
                }
                LocalEffect::Granted { grant } => {
                    turn.granted |= 1 << place;
                    self.observe(turn, Occurrence::Granted { node, grant })?;
                }
                LocalEffect::Turn { grant, passes } => self.observe(turn, Occurrence::Turn { grant, passes })?,
                LocalEffect::Arm { epoch } => {
                    if self.current(turn).timers[place] != Some(epoch) {
                        self.change(turn).timers[place] = Some(epoch);
                    }
                }
                LocalEffect::Reject { from, reason } => rejected = Some(Finding::Rejected { node, from, reason }),
            }
        }
        if let Some(finding) = self.local.finding(step) {
            return Err(finding.clone());
        }
        match rejected {
            Some(finding) if !self.model.allow_rejects => Err(finding),
            Some(_) | None => Ok(()),
        }
    }

    fn send(&mut self, turn: &mut Turn<'_>, node: usize, to: NodeId, message: u32) -> Result<(), Finding> {
        let carries = self.layout.channel_between(node, to).map(|channel| (channel, self.carries(turn, channel)));
        match carries {
            Some((channel, Carries::Yes)) => self.push(turn, channel, message),
            Some((channel, Carries::Swallows)) => {
                self.note_swallowed(channel, message);
                Ok(())
            }
            Some((_, Carries::No)) | None if self.model.allow_stray_sends => Ok(()),
            Some((_, Carries::No)) | None => {
                let kind = self.local.message_facts(message).kind;
                let node = NodeId(crate::intern::next_id(node));
                Err(if to == node { Finding::SelfSend { node, kind } } else { Finding::StraySend { node, to, kind } })
            }
        }
    }

    /// Records that a message was sent over a link that is cut.
    fn note_swallowed(&mut self, channel: usize, message: u32) {
        self.note_sent(channel, message);
        if let Some(Noted { vanished, .. }) = &mut self.noted {
            vanished.push(Vanished { channel, message, fate: Fate::Cut });
        }
    }

    /// What becomes of a message put into a channel now.
    fn carries(&self, turn: &Turn<'_>, channel: usize) -> Carries {
        let channel = self.layout.channels[channel];
        let Some(link) = channel.link else {
            let is_away = self.current(turn).is_away(channel.to.0 as usize);
            return if is_away { Carries::Swallows } else { Carries::Yes };
        };
        match self.current(turn).links[usize::from(link)] {
            LinkState::Up => Carries::Yes,
            LinkState::Down => Carries::No,
            LinkState::Dying(noticed) => {
                let end = usize::from(self.layout.links[usize::from(link)].link.high() == channel.from);
                if noticed[end] { Carries::No } else { Carries::Swallows }
            }
            LinkState::Failed(by) => {
                let end = u8::from(self.layout.links[usize::from(link)].link.high() == channel.from);
                if end == by { Carries::No } else { Carries::Swallows }
            }
        }
    }

    fn push(&mut self, turn: &mut Turn<'_>, channel: usize, message: u32) -> Result<(), Finding> {
        let before = turn.next[self.layout.nodes + channel];
        let content = match self.model.fifo {
            true => self.channels.append(before, message),
            false => self.insert_without_order(before, message),
        };
        turn.next[self.layout.nodes + channel] = content;
        self.note_sent(channel, message);
        self.pushed.push(u16::try_from(channel).unwrap_or(u16::MAX));
        if self.channels.len(content) > self.model.max_channel {
            if self.model.wait_when_full.unwrap_or(self.model.workload.endless) {
                turn.overfull = true;
                return Ok(());
            }
            let channel = self.layout.channels[channel];
            let what = format!("more than {} messages are in flight to node {}", self.model.max_channel, channel.to);
            return Err(Finding::endless(Some(channel.from), what));
        }
        Ok(())
    }

    /// Takes an occurrence into the history.
    pub(super) fn observe(&mut self, turn: &mut Turn<'_>, occurrence: Occurrence) -> Result<(), Violation> {
        let at = self.layout.history();
        let key = (turn.next[at], occurrence);
        if let Some(&after) = self.observed.get(&key) {
            turn.next[at] = after;
            return Ok(());
        }
        let mut history = self.histories.get(turn.next[at]).clone();
        history.observe(&key.1)?;
        let (after, _) = self.histories.insert(history);
        self.observed.insert(key, after);
        turn.next[at] = after;
        Ok(())
    }
}

/// What becomes of a message put into a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    Yes,
    /// The link is cut and the sender does not know: the message vanishes.
    Swallows,
    No,
}
