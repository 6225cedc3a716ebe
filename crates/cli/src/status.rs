//! `meshlock status`: who holds what and who waits.

use std::io::Write;
use std::time::Duration;

use meshlock_api::resource::MANY;
use meshlock_api::text::visible;
use meshlock_api::{
    Definition, MeshStatus, Missing, Mode, OutOfReach, Policy, RecoveryStatus, ResourceStatus, Row, State, Urgency,
    duration,
};
use meshlock_report::table::Cell;

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::output::{self, table, table_width, word};
use crate::text::{count, several};

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock status                the whole mesh
  meshlock status dock-3         one resource
  meshlock status --local        what this node knows, without asking the others
  meshlock status --json         for a script";

/// Who holds what and who waits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One resource only.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Ask this node alone.
    #[arg(long)]
    local: bool,
    /// How long other nodes may take to answer.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration::parse, conflicts_with = "local")]
    patience: Duration,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let patience = if args.local { Duration::ZERO } else { args.patience };
    let ask = async { Ok(args.node.connect().await?.status_of(args.name.as_deref(), patience).await?) };
    let status = block_on(ask)?;
    if args.json {
        output::json(&status)?;
    } else {
        anstream::stdout().write_all(render(&status, table_width()).as_bytes())?;
    }
    Ok(Exit::Fine)
}

/// What is out of the ordinary about recovery, a line each.
fn recovering(recovery: &RecoveryStatus) -> String {
    let mut text = String::new();
    let names = |names: &[String]| names.join(", ");
    if !recovery.gone.is_empty() {
        text += &format!("gone: {}\n", names(&recovery.gone));
    }
    if !recovery.suspected.is_empty() {
        text += &format!("not heard by voters: {}\n", names(&recovery.suspected));
    }
    if let Some(reason) = &recovery.suspended {
        text += &format!("nothing is granted here: {reason}\n");
    }
    if let Some(repair) = &recovery.repair {
        text += &format!("{repair}\n");
    }
    text
}

/// As text of this width.
pub(crate) fn render(status: &MeshStatus, width: usize) -> String {
    let nodes: Vec<&str> = status.nodes.iter().map(|node| node.name.as_str()).collect();
    let answered = several(nodes.len() as u64, "node");
    let mut text = format!("mesh {}, asked at {}; {answered}: {}\n", status.mesh, status.node, nodes.join(", "));
    if !status.missing.is_empty() {
        let missing: Vec<String> = status.missing.iter().map(absent).collect();
        text += &format!("no answer from {}\n", missing.join(", "));
    }
    if let Some(recovery) = &status.recovery {
        text += &recovering(recovery);
    }
    text += "\n";
    for alarm in &status.alarms {
        text += &format!("ALARM: {alarm}\n\n");
    }
    if status.resources.is_empty() {
        return text + "no resources yet: the first `meshlock lock NAME` makes one\n";
    }
    let resources = status.resources.iter().map(resource).collect();
    text += &table("resource | kind | in use# | waiting# | token at", resources, width);
    for (name, lost) in status.resources.iter().filter_map(|r| Some((&r.name, r.out_of_reach.as_ref()?))) {
        text += &format!("\n{name}: the token is {lost}. Until then nobody is served\n");
    }
    for resource in status.resources.iter().filter(|resource| resource.elsewhere > 0) {
        let units = several(resource.elsewhere.into(), "unit");
        text += &format!("\n{}: {units} in use at nodes that do not answer, or lost with them\n", resource.name);
    }
    let rows: Vec<Vec<Cell>> = status.resources.iter().flat_map(requests).collect();
    if rows.is_empty() {
        let where_asked = if status.complete { "" } else { " at the nodes that answered" };
        return text + &format!("\nnobody holds anything, nobody waits{where_asked}\n");
    }
    let columns = "resource | state | node | owner | urgency | units# | slots | session | for# | fence# | request";
    text += "\n";
    text += &table(columns, rows, width);
    for resource in &status.resources {
        for (more, what) in [(resource.more_holders, "hold"), (resource.more_waiters, "wait")] {
            if more > 0 {
                text += &format!("{}: {} more {what}\n", resource.name, count(more.into()));
            }
        }
    }
    text
}

/// A member that did not answer.
fn absent(missing: &Missing) -> String {
    let ago = Duration::from_secs(missing.heard_ms_ago / 1_000);
    if ago.is_zero() {
        missing.name.clone()
    } else {
        format!("{} (heard of {} ago)", missing.name, duration::display(ago))
    }
}

fn resource(resource: &ResourceStatus) -> Vec<Cell> {
    let text = |text: String| Cell::Text(text);
    vec![
        text(resource.name.clone()),
        text(kind_and_policy(&resource.definition)),
        text(in_use(resource)),
        text((resource.waiters.len() as u64 + u64::from(resource.more_waiters)).to_string()),
        text(token(resource)),
    ]
}

fn token(resource: &ResourceStatus) -> String {
    match (&resource.token_at, &resource.out_of_reach) {
        (Some(node), _) => node.clone(),
        (None, Some(OutOfReach { last_seen: Some(node), .. })) => format!("out of reach ({node})"),
        (None, Some(_)) => "out of reach".to_owned(),
        (None, None) => "?".to_owned(),
    }
}

fn kind_and_policy(definition: &Definition) -> String {
    let kind = word(&definition.kind);
    match definition.policy {
        Policy::Strict => kind,
        Policy::Backfill => format!("{kind}, backfill"),
    }
}

fn in_use(resource: &ResourceStatus) -> String {
    let capacity = resource.definition.capacity;
    // Who else holds something is written in the token alone.
    let at_least = match (&resource.out_of_reach, resource.in_use) {
        (Some(_), 0) => return if capacity == MANY { "?".to_owned() } else { format!("?/{capacity}") },
        (Some(_), _) => "at least ",
        (None, _) => "",
    };
    if capacity == MANY {
        return format!("{at_least}{}", resource.holders.len() as u64 + u64::from(resource.more_holders));
    }
    format!("{at_least}{}/{capacity}", resource.in_use)
}

fn requests(resource: &ResourceStatus) -> Vec<Vec<Cell>> {
    resource.holders.iter().chain(&resource.waiters).map(|row| request(resource, row)).collect()
}

/// `0-3,7`, or the names.
fn slots(definition: &Definition, slots: &[u32]) -> String {
    let names: Option<Vec<&str>> =
        slots.iter().map(|slot| Some(definition.slots.get(*slot as usize)?.as_str())).collect();
    if let Some(names) = names {
        return names.join(",");
    }
    let runs = slots.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(ToString::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(",")
}

fn request(resource: &ResourceStatus, row: &Row) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(visible(text).into_owned());
    let session = match (&row.session, row.mode) {
        (Some(session), _) => session,
        (None, Some(Mode::Read)) => "read",
        (None, Some(Mode::Write)) => "write",
        (None, None) => "",
    };
    vec![
        text(&resource.name),
        text(match row.state {
            State::Granted => "holds",
            State::Queued => "waits",
            State::Revoked | State::Rejected | State::Expired | State::Released => "told to stop",
        }),
        text(&row.node),
        text(row.owner.as_deref().unwrap_or("")),
        text(&urgency(row.urgency)),
        text(&row.units.to_string()),
        text(&slots(&resource.definition, &row.slots)),
        text(session),
        text(&duration::display(Duration::from_millis(row.age_ms))),
        text(&row.fence.map(|fence| fence.to_string()).unwrap_or_default()),
        text(&row.id),
    ]
}

/// `priority 7`, or the deadline.
pub(crate) fn urgency(urgency: Urgency) -> String {
    match urgency {
        Urgency::Priority(priority) => format!("priority {priority}"),
        Urgency::Deadline(deadline) => format!("deadline {deadline}"),
    }
}

#[cfg(test)]
mod tests {
    use meshlock_api::Kind;

    use super::*;

    fn row(id: &str, state: State, fence: Option<u64>) -> Row {
        Row {
            node: "n0".into(),
            id: id.into(),
            owner: Some("rsync[7]".into()),
            state,
            units: 2,
            urgency: Urgency::Priority(7),
            session: None,
            mode: None,
            age_ms: 1_500,
            fence,
            slots: if state == State::Granted { vec![0, 2] } else { Vec::new() },
            rank: None,
        }
    }

    fn gpu() -> ResourceStatus {
        ResourceStatus {
            name: "gpu".into(),
            definition: Definition { kind: Kind::Semaphore, capacity: 3, ..Definition::default() },
            token_at: Some("n0".into()),
            out_of_reach: None,
            in_use: 2,
            elsewhere: 0,
            holders: vec![row("a", State::Granted, Some(4))],
            waiters: vec![row("b", State::Queued, None)],
            more_holders: 0,
            more_waiters: 0,
        }
    }

    fn status(gpu: ResourceStatus) -> MeshStatus {
        MeshStatus {
            mesh: "hall".into(),
            node: "n0".into(),
            complete: true,
            resources: vec![gpu],
            ..MeshStatus::default()
        }
    }

    fn line(text: &str, start: &str) -> String {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).find(|line| line.starts_with(start)).unwrap_or_default()
    }

    #[test]
    fn holders_and_waiters_stand_under_their_resource() {
        let text = render(&status(gpu()), 120);
        assert_eq!(line(&text, "gpu semaphore"), "gpu semaphore 2/3 1 n0", "{text}");
        assert_eq!(line(&text, "gpu holds"), "gpu holds n0 rsync[7] priority 7 2 0,2 1.5s 4 a", "{text}");
        assert_eq!(line(&text, "gpu waits"), "gpu waits n0 rsync[7] priority 7 2 1.5s b", "{text}");
    }

    #[test]
    fn slots_are_told_by_name_or_as_runs() {
        let unnamed = Definition::default();
        assert_eq!(slots(&unnamed, &[0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(slots(&unnamed, &[]), "");
        let named = Definition { slots: vec!["a".into(), "b".into()], ..Definition::default() };
        assert_eq!(slots(&named, &[0, 1]), "a,b");
        assert_eq!(slots(&named, &[1, 2]), "1-2", "this one has no name here yet");
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        let text = render(&status(ResourceStatus { more_waiters: 99_000, ..gpu() }), 120);
        assert_eq!(line(&text, "gpu semaphore"), "gpu semaphore 2/3 99001 n0", "{text}");
        assert_eq!(line(&text, "gpu: 99"), "gpu: 99,000 more wait", "{text}");
    }

    #[test]
    fn a_token_out_of_reach_is_not_told_as_a_free_resource() {
        let lost = Some(OutOfReach { for_ms: Some(9_000), last_seen: Some("n2".into()) });
        let nobody = ResourceStatus {
            token_at: None,
            out_of_reach: lost,
            in_use: 0,
            holders: Vec::new(),
            waiters: Vec::new(),
            ..gpu()
        };
        let missing = vec![Missing { name: "n2".into(), heard_ms_ago: 9_400 }];
        let text = render(&MeshStatus { missing, ..status(nobody) }, 120);
        assert_eq!(line(&text, "gpu semaphore"), "gpu semaphore ?/3 0 out of reach (n2)", "{text}");
        assert!(line(&text, "gpu: the token").contains("out of reach for 9.0s, last seen at n2"), "{text}");
        assert_eq!(line(&text, "no answer"), "no answer from n2 (heard of 9.0s ago)", "{text}");
        let text = render(&status(ResourceStatus { elsewhere: 2, ..gpu() }), 120);
        assert_eq!(line(&text, "gpu: 2 units"), "gpu: 2 units in use at nodes that do not answer, or lost with them");
    }
}
