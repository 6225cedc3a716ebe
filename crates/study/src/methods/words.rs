//! Parts of a scenario in words.

use meshlock_core::{Aging, Order};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{
    Arrivals, Changes, Class, Crashes, MessageSize, Mobility, Over, Placement, ProtocolChoice, Radio, Recovery, Shape,
    Text, Traffic, UrgencyOf, Voting, Wired,
};
use meshlock_sim::time::Span;

pub(super) fn radio(radio: &Radio) -> String {
    let Radio { area, range, bandwidth, latency, error, ack, retries, .. } = radio;
    let (width, height) = (area.width, area.height);
    let rate =
        if *bandwidth >= 1e6 { format!("{} Mb/s", bandwidth / 1e6) } else { format!("{} kb/s", bandwidth / 1e3) };
    format!(
        "radio in an area of {width} m x {height} m: range {range} m, {rate}, latency {latency}, {}, errors with \
         probability {error}, acknowledgements of {ack} bytes, up to {retries} repetitions{}; a link that breaks {}",
        message(radio.message),
        sharing(radio.hold_back),
        breaking(radio.gentle),
    )
}

pub(super) fn wired(wired: &Wired) -> String {
    let shape = match &wired.shape {
        Shape::Line => "a line".to_owned(),
        Shape::Ring => "a ring".to_owned(),
        Shape::Star => "a star".to_owned(),
        Shape::Grid => "a grid".to_owned(),
        Shape::Tree { arity } => format!("a tree with {arity} children per node"),
        Shape::Complete => "a complete graph".to_owned(),
        Shape::Random { connectivity } => format!("a random connected graph with a share {connectivity} of all links"),
        Shape::Links(links) => format!("a given graph of {} links", links.len()),
    };
    let order = if wired.fifo { "in order" } else { "in any order" };
    format!(
        "{shape}: delay (s) {}, {order}, loss with probability {}, {}{}; a link that breaks {}",
        distribution(&wired.delay),
        wired.loss,
        message(wired.message),
        sharing(wired.hold_back),
        breaking(wired.gentle),
    )
}

pub(super) fn crashes(crashes: &Crashes) -> String {
    let mut told = Vec::new();
    if crashes.per_hour > 0.0 {
        let never = if crashes.never > 0.0 { format!(", a share {} never", crashes.never) } else { String::new() };
        told.push(format!(
            "each node crashes {} times per hour and returns after (s) {}{never}",
            crashes.per_hour,
            distribution(&crashes.back)
        ));
    }
    if !crashes.script.is_empty() {
        told.push(format!("{} given crashes", crashes.script.len()));
    }
    told.push(match crashes.recovery {
        Recovery::None => "nothing is recovered".to_owned(),
        Recovery::Restart { removal } => {
            format!("recovery by return, or by an operator {removal} after the crash of a node that never returns")
        }
        Recovery::Voters(Voting { voters, standing, wait, drift }) => format!(
            "recovery by {voters} voters, standing {standing}, declared gone after {wait}, clocks drift by up to {drift}"
        ),
    });
    told.push(format!("leases of clients {}", crashes.lease));
    told.join("; ")
}

fn message(size: MessageSize) -> String {
    match size {
        MessageSize::Fixed(bytes) => format!("messages of {bytes} bytes"),
        MessageSize::Encoded { header } => format!("messages as encoded plus {header} bytes of header"),
    }
}

fn sharing(hold_back: Option<Span>) -> String {
    let told = |bound: Span| {
        format!(
            ", a message that nobody waits for shares the frame of the next one to its receiver, after {bound} at most"
        )
    };
    hold_back.map(told).unwrap_or_default()
}

fn breaking(gentle: bool) -> &'static str {
    if gentle { "first delivers what is on it" } else { "loses what is on it" }
}

pub(super) fn mobility(mobility: &Mobility) -> String {
    match mobility {
        Mobility::Static(Placement::Random) => "none; nodes stand at random places".to_owned(),
        Mobility::Static(Placement::Grid) => "none; nodes stand in a grid".to_owned(),
        Mobility::Static(Placement::At(_)) => "none; nodes stand at given places".to_owned(),
        Mobility::Linear { speed } => {
            format!("straight lines with reflection at the border, speed (m/s) {}", distribution(speed))
        }
        Mobility::Direction { speed, pause } => {
            let (speed, pause) = (distribution(speed), distribution(pause));
            format!("random direction to the border, speed (m/s) {speed}, pause (s) {pause}")
        }
        Mobility::Waypoint { slowest, fastest, pause } => format!(
            "random waypoint in its steady state, speed {slowest} to {fastest} m/s, pause (s) {}",
            distribution(pause)
        ),
        Mobility::GaussMarkov { step, memory, speed, speed_deviation, direction_deviation } => format!(
            "Gauss-Markov, steps of {step}, memory {memory}, speed {speed} m/s with deviation {speed_deviation}, \
             direction with deviation {direction_deviation} rad"
        ),
        Mobility::Walk { speed, leg, turn } => {
            let (speed, leg) = (distribution(speed), distribution(leg));
            format!("random walk, speed (m/s) {speed}, legs (s) {leg}, turns up to {turn} rad")
        }
        Mobility::Trace { source, .. } => format!("recorded in {source}"),
    }
}

pub(super) fn changes(changes: &Changes) -> String {
    let random = changes.every.map(|every| {
        let kept = if changes.keep_connected { ", never cutting the network apart" } else { "" };
        format!("a random link is cut and another added every {every} on average{kept}")
    });
    let script = (!changes.script.is_empty()).then(|| format!("{} links change at given times", changes.script.len()));
    let told: Vec<String> = random.into_iter().chain(script).collect();
    if told.is_empty() { "none; links do not change".to_owned() } else { told.join("; ") }
}

pub(super) fn traffic(traffic: &Traffic, nodes: u32) -> String {
    let alone = traffic.classes.len() == 1;
    traffic.classes.iter().map(|one| class(one, alone, nodes)).collect::<Vec<_>>().join("; ")
}

fn class(class: &Class, alone: bool, nodes: u32) -> String {
    let count = class.nodes.len();
    let who = match (alone, count) {
        (true, count) if u32::try_from(count) == Ok(nodes) => "every node".to_owned(),
        (true, count) => format!("{count} clients"),
        (false, count) => format!("{count} clients `{}`", class.name),
    };
    let when = match &class.arrivals {
        Arrivals::Closed { think } => format!("think (s) {}, ask, hold", distribution(think)),
        Arrivals::Open { gap } => format!("asks whatever happens, gaps (s) {}, holds", distribution(gap)),
        Arrivals::Burst { at, requests } => format!("{requests} requests at {at}, holds"),
    };
    let urgency = match &class.urgency {
        UrgencyOf::Priority(priority) => format!("priority {}", distribution(priority)),
        UrgencyOf::Deadline(due) => format!("deadline (s from asking) {}", distribution(due)),
    };
    let session = class.session.as_ref().map(|session| format!(", session {}", distribution(session)));
    let patience = class.patience.as_ref().map(|patience| format!(", gives up after (s) {}", distribution(patience)));
    format!(
        "{who}: {when} (s) {}; units {}, {urgency}{}{}",
        distribution(&class.holding),
        distribution(&class.units),
        session.unwrap_or_default(),
        patience.unwrap_or_default(),
    )
}

pub(super) fn protocol(protocol: &ProtocolChoice) -> String {
    let text = match &protocol.text {
        Text::Repaired => "repaired".to_owned(),
        Text::Published { repairs } if repairs.is_empty() => "as published".to_owned(),
        Text::Published { repairs } => format!("as published, with {} repaired", repairs.join(", ")),
    };
    let order = match protocol.order {
        Order::Priority { aging: Aging(0) } => "by priority".to_owned(),
        Order::Priority { aging: Aging(grants) } => format!("by priority, one step more urgent after {grants} grants"),
        Order::Deadline => "by deadline".to_owned(),
    };
    let over = match protocol.over {
        Over::Links => "",
        Over::Relay => ", over meshlock's relay",
        Over::Routing => ", over ideal routing",
    };
    format!("{} ({text}), k = {}, {order}{over}", protocol.name.name(), protocol.capacity)
}

fn distribution(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Constant(value) => value.to_string(),
        Distribution::Uniform { low, high } => format!("uniform from {low} to {high}"),
        Distribution::Exponential { mean } => format!("exponential with mean {mean}"),
        Distribution::LogNormal { median, sigma } => format!("log-normal with median {median} and sigma {sigma}"),
        Distribution::Choice(values) => {
            let all: f64 = values.iter().map(|(_, weight)| weight).sum();
            let one = |(value, weight): &(f64, f64)| format!("{value} ({:.0} %)", 100.0 * weight / all);
            values.iter().map(one).collect::<Vec<_>>().join(" or ")
        }
    }
}
