//! The rules over whole states, with what they need to see.

use meshlock_core::recovery::Resource;
use meshlock_core::view::View;
use meshlock_core::{NodeId, Protocol};
use meshlock_properties::{Flight, Rule, Snapshot, Violation, check_snapshot};

use meshlock_protocols::Message;

use crate::finding::Finding;
use crate::intern::{Sequences, next_id};
use crate::layout::Channel;
use crate::space::{Row, Space};

impl Space {
    /// Checks everything that must hold in a state.
    pub(crate) fn check(&mut self, row: &Row) -> Result<(), Finding> {
        self.check_levels(row)?;
        // What is under way to one who takes no part is of no use.
        let heard = self.taking_part(row);
        let is_heard = |channel: &Channel| heard >> channel.to.0 & 1 == 1;
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        let mut at = 0;
        for (channel, content) in self.layout.channels.iter().zip(&row[self.layout.nodes..]) {
            if *content == Sequences::EMPTY || !is_heard(channel) {
                continue;
            }
            let receiver = row[channel.to.0 as usize];
            for message in self.channels.iter(*content) {
                if let Some(token) = self.local.token_in(receiver, channel.from, message) {
                    tokens.push((at, token));
                }
                at += 1;
            }
        }
        let checked = self.check_whole(row, heard, &tokens, at);
        self.tokens = tokens;
        checked
    }

    /// The same with what is known already: who is heard, as bits, and which of the messages bring tokens.
    fn check_whole(&self, row: &Row, heard: u64, tokens: &[(usize, u32)], messages: usize) -> Result<(), Finding> {
        let mut flights = Vec::with_capacity(messages);
        let mut tokens = tokens.iter().peekable();
        let contents = self.layout.channels.iter().zip(&row[self.layout.nodes..]);
        for (channel, content) in contents.filter(|(channel, _)| heard >> channel.to.0 & 1 == 1) {
            for message in self.channels.iter(*content) {
                let facts = self.local.message_facts(message);
                let token = tokens.next_if(|(place, _)| *place == flights.len());
                flights.push(Flight {
                    from: channel.from,
                    to: channel.to,
                    kind: facts.kind,
                    token: token.map(|(_, token)| self.local.token_view(*token)),
                    returning: facts.returning,
                });
            }
        }
        let present = || (0..self.layout.nodes).filter(|place| heard >> place & 1 == 1);
        let id = |place: usize| NodeId(next_id(place));
        let mut nodes: Vec<(NodeId, &View)> = Vec::with_capacity(self.layout.nodes);
        nodes.extend(present().map(|place| (id(place), self.local.view(row[place]))));
        let some_parts: Vec<u32>;
        let parts = if nodes.len() == self.layout.nodes {
            &*self.environment_facts(row).parts
        } else {
            let all_parts = self.parts(row);
            some_parts = present().map(|place| all_parts[place]).collect();
            &some_parts
        };
        let snapshot = Snapshot { nodes: &nodes, flights: &flights, quiet: self.is_quiet(row), parts };
        check_snapshot(self.model.rules, &self.model.setting, &snapshot)?;
        let history = self.histories.get(row[self.layout.history()]);
        if self.model.recovers() {
            history.check_in_use(&snapshot)?;
            self.check_begun_anew(row)?;
            self.check_other_tokens(row, &snapshot, heard)?;
            if snapshot.quiet {
                self.check_censuses(row, &present().collect::<Vec<_>>(), parts)?;
            }
        }
        let view = |node: NodeId| Some(self.local.view(*row.get(node.0 as usize)?));
        history.check_known(view).map_err(Finding::Rule)
    }

    /// Of every resource but the first, which all other rules look at: one token at most, and one in the quiet.
    fn check_other_tokens(&self, row: &Row, snapshot: &Snapshot<'_>, heard: u64) -> Result<(), Finding> {
        let Some(resources) = self.member(row, 0).map(|member| member.resources().len()) else { return Ok(()) };
        let is_heard = |place: usize| heard >> place & 1 == 1;
        let present = || (0..self.layout.nodes).filter(|place| is_heard(*place));
        let whole = snapshot.parts.windows(2).all(|pair| pair[0] == pair[1]) && !snapshot.parts.is_empty();
        for resource in 1..resources {
            let has = |place: &usize| {
                let member = self.member(row, *place);
                member.is_some_and(|member| member.resources()[resource].view().token.is_some())
            };
            let held = present().filter(has).count();
            let mut flying = 0;
            for (at, channel) in self.layout.channels.iter().enumerate() {
                let Some(member) = self.member(row, channel.to.0 as usize).filter(|_| is_heard(channel.to.0 as usize))
                else {
                    continue;
                };
                for message in self.channels.iter(row[self.layout.channel(at)]) {
                    let Message::Recovering(message) = self.local.message(message) else { continue };
                    let number = resource as Resource;
                    flying += usize::from(member.token_of(number, channel.from, message).is_some());
                }
            }
            let (rule, what) = match held + flying {
                0 if snapshot.quiet && whole => (Rule::Repaired, "there is no token"),
                0 | 1 => continue,
                2.. => (Rule::OneToken, "there are several tokens"),
            };
            return Err(Violation::new(rule, None, format!("{what} of resource {resource}")).into());
        }
        Ok(())
    }

    /// No member goes on that knows that it is gone.
    fn check_begun_anew(&self, row: &Row) -> Result<(), Finding> {
        if !self.model.rules.has(Rule::Repaired) {
            return Ok(());
        }
        let goes_on = |place: &usize| {
            self.member(row, *place).is_some_and(|member| member.is_running() && member.keeper().is_gone())
        };
        (0..self.layout.nodes).find(goes_on).map_or(Ok(()), |place| {
            let what = "it knows that it is gone, and goes on";
            Err(Violation::new(Rule::Repaired, Some(NodeId(next_id(place))), what).into())
        })
    }

    /// In the quiet, members that are connected know the same of who is gone.
    fn check_censuses(&self, row: &Row, present: &[usize], parts: &[u32]) -> Result<(), Finding> {
        if !self.model.rules.has(Rule::Repaired) {
            return Ok(());
        }
        for (at, (place, part)) in present.iter().zip(parts).enumerate() {
            let census = |place: usize| self.member(row, place).map(|member| member.keeper().census());
            let mut earlier = present[..at].iter().zip(parts).filter(|(_, other)| *other == part);
            if let Some((other, _)) = earlier.find(|(other, _)| census(**other) != census(*place)) {
                let what = format!("nothing is in flight, and node {other} has another census");
                let node = Some(NodeId(next_id(*place)));
                return Err(Violation::new(Rule::Repaired, node, what).into());
            }
        }
        Ok(())
    }

    fn check_levels(&self, row: &Row) -> Result<(), Finding> {
        let Some(most) = self.model.max_level else { return Ok(()) };
        for (place, node) in row.iter().take(self.layout.nodes).enumerate() {
            let height = self.local.view(*node).height.filter(|height| !height.is_unset());
            if let Some(height) = height.filter(|height| height.level > most) {
                let what = format!("its height has risen to {height}, above level {most}");
                return Err(Finding::endless(Some(NodeId(next_id(place))), what));
            }
        }
        Ok(())
    }
}
