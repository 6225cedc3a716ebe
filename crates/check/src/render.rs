//! A run as text: numbered steps, what is sent, and what changed.

use std::fmt::{self, Write};

use meshlock_core::view::{Claimant, Origin, TokenView, View};
use meshlock_core::{Demand, Effect, Event, GrantId, NodeId, Protocol, Urgency};
use meshlock_protocols::{Message, Node};

use crate::action::Action;
use crate::counterexample::{Counterexample, Fate, Move, Step};
use crate::members::Incident;

pub(crate) fn counterexample(run: &Counterexample, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, step) in run.steps.iter().enumerate() {
        if run.cycle_from == Some(place) {
            writeln!(f, "     -- from here on the steps repeat forever --")?;
        }
        writeln!(f, "{:>4}  {}", place + 1, title(step))?;
        for made in &step.moves {
            let name = if step.moves.len() > 1 { format!("node {}: ", made.node) } else { String::new() };
            for effect in &made.effects {
                writeln!(f, "        {name}-> {}", describe_effect(made.node, effect))?;
            }
            let changes = changes(&made.view_before(), &made.view());
            if !changes.is_empty() {
                writeln!(f, "        node {}: {}", made.node, changes.join("; "))?;
            }
        }
        for gone in &step.vanished {
            let why = match gone.fate {
                Fate::Lost => "is lost",
                Fate::Cut => "is lost with the link",
                Fate::Stale => "will be ignored and is left out",
            };
            writeln!(f, "        {} from {} to {} {why}", Node::kind(&gone.message), gone.from, gone.to)?;
        }
    }
    Ok(())
}

/// What happens in a step, different from the labels of all other steps that are possible there.
pub(crate) fn label(step: &Step) -> String {
    match (step.action, step.vanished.first()) {
        (Action::Lose { .. }, Some(lost)) => {
            format!("{} from {} to {} is lost", describe_message(&lost.message), lost.from, lost.to)
        }
        _ => title(step),
    }
}

fn title(step: &Step) -> String {
    let link = || step.link.map(|(low, high)| format!("{low}-{high}")).unwrap_or_default();
    match step.action {
        Action::Cut { .. } => format!("link {} is cut", link()),
        Action::Form { .. } => format!("link {} comes up", link()),
        Action::Lose { .. } => "a message is lost".to_owned(),
        Action::Stop { node } => format!("node {node} stops and is saved"),
        Action::Start { node } => format!("node {node} starts again"),
        Action::Member { incident: Incident::Remove, node, at } => {
            format!("node {node} is removed for good, and node {at} hears of it")
        }
        Action::Member { incident, node, .. } => format!("node {node} {}", incident.words()),
        Action::ExpireEarly { node } => format!("the timer of node {node} runs out early"),
        Action::Deliver { .. }
        | Action::Notice { .. }
        | Action::Release { .. }
        | Action::Expire { .. }
        | Action::Request { .. }
        | Action::Cancel { .. }
        | Action::Reprioritize { .. }
        | Action::Resize { .. }
        | Action::Learn { .. }
        | Action::Leave { .. } => step.moves.first().map(describe_event).unwrap_or_default(),
    }
}

fn describe_event(made: &Move) -> String {
    let node = made.node;
    let name = |request| GrantId { node, request };
    match &made.event {
        Event::Request { request, demand } => {
            format!("node {node} asks for {} (request {})", describe_demand(demand), name(*request))
        }
        Event::Cancel { request } => format!("node {node} gives up request {}", name(*request)),
        Event::Reprioritize { request, urgency } => {
            format!("node {node} changes request {} to {}", name(*request), describe_urgency(*urgency))
        }
        Event::Release { request, .. } => format!("node {node} releases {}", name(*request)),
        Event::LinkUp { neighbour } => format!("node {node} learns that the link to {neighbour} is up"),
        Event::LinkDown { neighbour } => format!("node {node} learns that the link to {neighbour} is down"),
        Event::Receive { from, message } => format!("node {node} gets {} from {from}", describe_message(message)),
        Event::Expired { .. } => format!("the timer of node {node} runs out"),
        Event::Resize { version, capacity } => {
            format!("node {node} hears that the resource has {capacity} units (version {version})")
        }
        Event::Leave => format!("node {node} is about to go"),
        Event::Resume => format!("node {node} goes on after a stop"),
        Event::Census { .. } => format!("node {node} hears who is gone"),
        Event::Remake { .. } => format!("node {node} makes the lost token anew"),
    }
}

fn describe_effect(node: NodeId, effect: &Effect<Message>) -> String {
    match effect {
        Effect::Send { to, message } => format!("{} to {to}", describe_message(message)),
        Effect::Multicast { to, message } => {
            let to: Vec<String> = to.iter().map(ToString::to_string).collect();
            format!("{} to {}", describe_message(message), to.join(", "))
        }
        Effect::Broadcast { message } => format!("{} to all neighbours", describe_message(message)),
        Effect::Granted { grant } => {
            let fence = grant.fence.map(|fence| format!(", fence {fence}")).unwrap_or_default();
            format!("granted: {}{fence}", GrantId { node, request: grant.request })
        }
        Effect::Arm { .. } => "arms a timer".to_owned(),
        Effect::Reject { from, reason } => format!("rejects the message from {from}: {reason}"),
    }
}

/// The protocol's word for a message, and what is in it.
fn describe_message(message: &Message) -> String {
    let kind = Node::kind(message);
    let content = compact(&format!("{message:?}"));
    let bare = kind.replace(['-', ' '], "");
    let content = match content.split_once([' ', '(']) {
        None if content.eq_ignore_ascii_case(&bare) => "",
        Some((word, rest)) if word.eq_ignore_ascii_case(&bare) || word == "Message" => unwrapped(rest),
        None | Some(_) => &content,
    };
    if content.is_empty() { kind.to_owned() } else { format!("{kind} [{content}]") }
}

/// Without the brackets around all of it.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('{').unwrap_or(text);
    inner.strip_suffix(['}', ')']).unwrap_or(inner).trim()
}

/// Makes debug text shorter: wrapped numbers without the name of the wrapper, heights and grants as they are written
/// elsewhere, and no type that only repeats the name of its field.
fn compact(text: &str) -> String {
    let text = without_wrappers(text);
    let text = rewrite(&text, "GrantId { node: ", &[", request: "], "", ".");
    let text = rewrite(&text, "Height { level: ", &[", depth: ", ", id: "], "(", ",");
    without_echoes(&text)
}

/// Rewrites `start a between b between c }` as `open a comma b comma c`, closing what was opened.
fn rewrite(text: &str, start: &str, between: &[&str], open: &str, comma: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(start) {
        out.push_str(before);
        let Some((inner, after)) = after.split_once(" }") else {
            out.push_str(start);
            rest = after;
            continue;
        };
        let inner = between.iter().fold(inner.to_owned(), |inner, word| inner.replacen(word, comma, 1));
        out.push_str(open);
        out.push_str(&inner);
        out.push_str(if open.is_empty() { "" } else { ")" });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `token: Token { .. }` becomes `token: { .. }`.
fn without_echoes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let field = out.strip_suffix(": ").and_then(|before| before.rsplit([' ', '{', '(', '[']).next());
        if !field.is_some_and(|field| field.eq_ignore_ascii_case(word.trim_end())) {
            out.push_str(word);
        }
    }
    out
}

/// `NodeId(3)` becomes `3`.
fn without_wrappers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, after) = rest.split_at(open);
        let word = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let inner = after[1..].find(')').map(|close| &after[1..=close]);
        match inner {
            Some(number) if word < open && !number.is_empty() && number.parse::<i128>().is_ok() => {
                out.push_str(&before[..word]);
                out.push_str(number);
                rest = &after[number.len() + 2..];
            }
            Some(_) | None => {
                out.push_str(before);
                out.push('(');
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn describe_demand(demand: &Demand) -> String {
    let units = if demand.units.0 == 1 { "unit" } else { "units" };
    let session = demand.session.map(|session| format!(", session {session}")).unwrap_or_default();
    format!("{} {units}, {}{session}", demand.units, describe_urgency(demand.urgency))
}

fn describe_urgency(urgency: Urgency) -> String {
    match urgency {
        Urgency::Priority(priority) => format!("priority {priority}"),
        Urgency::Deadline(deadline) => format!("deadline {deadline}"),
    }
}

/// What differs between two views of one node, in few words.
fn changes(before: &View, after: &View) -> Vec<String> {
    let mut all = Vec::new();
    if before.role != after.role {
        all.push(format!("is {}", after.role));
    }
    match (&before.token, &after.token) {
        (None, Some(token)) => all.push(format!("has the token{}", describe_token(token))),
        (Some(_), None) => all.push("has no token".to_owned()),
        (Some(old), Some(new)) if old != new => all.push(format!("token{}", describe_token(new))),
        (Some(_), Some(_)) | (None, None) => {}
    }
    if before.keeps_copy != after.keeps_copy {
        all.push(if after.keeps_copy { "keeps a copy" } else { "forgets the copy" }.to_owned());
    }
    if let Some(height) = after.height.filter(|height| Some(*height) != before.height) {
        all.push(format!("height {height}"));
    }
    if before.neighbours != after.neighbours {
        all.push(format!("neighbours [{}]", list(after.neighbours.iter())));
    }
    if before.asked != after.asked {
        all.push(after.asked.map_or("has no outstanding request".to_owned(), |node| format!("has asked {node}")));
    }
    if before.queue != after.queue {
        all.push(format!("queue [{}]", list(after.queue.iter().map(describe_claimant))));
    }
    if before.holding != after.holding {
        all.push(format!("holds [{}]", list(after.holding.iter().map(|grant| grant.request))));
    }
    if before.waiting != after.waiting {
        all.push(format!("waits for [{}]", list(after.waiting.iter().map(|waiting| waiting.request))));
    }
    if before.returning != after.returning {
        all.push(format!("returns [{}]", list(after.returning.iter().map(|returning| returning.units))));
    }
    if before.captain != after.captain {
        all.push(after.captain.map_or("follows no captain".to_owned(), |node| format!("follows {node}")));
    }
    if before.followers != after.followers {
        all.push(after.followers.map_or("counts no followers".to_owned(), |count| format!("followers {count}")));
    }
    all
}

fn describe_token(token: &TokenView) -> String {
    let mut text = format!(" (free {}", token.free);
    if let Some(pass) = token.pass {
        let _ = write!(text, ", pass {pass}");
    }
    if let Some(ledger) = token.ledger.as_ref().filter(|ledger| !ledger.is_empty()) {
        let _ = write!(text, ", in use [{}]", list(ledger.iter().map(|entry| entry.grant)));
    }
    if let Some(session) = token.session {
        let _ = write!(text, ", session {session}");
    }
    if !token.queue.is_empty() {
        let _ = write!(text, ", queue [{}]", list(token.queue.iter().map(describe_claimant)));
    }
    if let Some(followers) = token.followers {
        let _ = write!(text, ", followers {followers}");
    }
    text + ")"
}

fn describe_claimant(claimant: &Claimant) -> String {
    let who = match claimant.origin {
        Origin::Local(request) => format!("own {request}"),
        Origin::Node(node) => format!("node {node}"),
    };
    format!("{who} rank {}", claimant.rank)
}

fn list(items: impl Iterator<Item = impl fmt::Display>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_wrapped_numbers_are_left_out() {
        assert_eq!(compact("Ask { from: NodeId(3), rank: Rank(-1) }"), "Ask { from: 3, rank: -1 }");
        assert_eq!(compact("Token(Token { of: Some(NodeId(1)) })"), "Token(Token { of: Some(1) })");
        assert_eq!(compact("(1, 2)"), "(1, 2)");
        assert_eq!(compact("Odd("), "Odd(");
        assert_eq!(compact("Height { level: 1"), "Height { level: 1");
    }

    #[test]
    fn heights_and_grants_are_written_as_elsewhere() {
        let text = "height: Height { level: 0, depth: -2, id: NodeId(3) }, body: Release(GrantId { node: NodeId(0), \
                    request: RequestId(6) })";
        assert_eq!(compact(text), "height: (0,-2,3), body: Release(0.6)");
        assert_eq!(compact("token: Token { pass: 3 }, ask: None"), "token: { pass: 3 }, ask: None");
    }
}
