//! The rules over whole states, with what they need to see.

use meshlock_core::NodeId;
use meshlock_core::view::View;
use meshlock_properties::{Flight, Snapshot, check_snapshot};

use crate::finding::Finding;
use crate::intern::{Sequences, next_id};
use crate::space::{Row, Space};

impl Space {
    /// Checks everything that must hold in a state.
    pub(crate) fn check(&mut self, row: &Row) -> Result<(), Finding> {
        self.check_levels(row)?;
        let mut tokens = Vec::new();
        let mut at = 0;
        for (channel, content) in self.layout.channels.iter().zip(&row[self.layout.nodes..]) {
            if *content == Sequences::EMPTY {
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
        let mut flights = Vec::with_capacity(at);
        let mut tokens = tokens.into_iter().peekable();
        for (channel, content) in self.layout.channels.iter().zip(&row[self.layout.nodes..]) {
            for message in self.channels.iter(*content) {
                let facts = self.local.message_facts(message);
                let token = tokens.next_if(|(place, _)| *place == flights.len());
                flights.push(Flight {
                    from: channel.from,
                    to: channel.to,
                    kind: facts.kind,
                    token: token.map(|(_, token)| self.local.token_view(token)),
                    returning: facts.returning,
                });
            }
        }
        let nodes: Vec<(NodeId, &View)> =
            (0..self.layout.nodes).map(|place| (NodeId(next_id(place)), self.local.view(row[place]))).collect();
        let snapshot = Snapshot {
            nodes: &nodes,
            flights: &flights,
            quiet: self.is_quiet(row),
            parts: &self.environment_facts(row).parts,
        };
        check_snapshot(self.model.rules, &self.model.setting, &snapshot)?;
        let history = self.histories.get(row[self.layout.history()]);
        let view = |node: NodeId| Some(self.local.view(*row.get(node.0 as usize)?));
        history.check_known(view).map_err(Finding::Rule)
    }

    fn check_levels(&self, row: &Row) -> Result<(), Finding> {
        let Some(most) = self.model.max_level else { return Ok(()) };
        for (place, node) in row.iter().take(self.layout.nodes).enumerate() {
            let height = self.local.view(*node).height;
            if let Some(height) = height.filter(|height| height.level > most) {
                let what = format!("its height has risen to {height}, above level {most}");
                return Err(Finding::endless(Some(NodeId(next_id(place))), what));
            }
        }
        Ok(())
    }
}
