//! `meshlock status`: who holds what and who waits.

use std::io::Write;
use std::time::Duration;

use meshlock_api::{Definition, Kind, MeshStatus, Mode, ResourceStatus, Row, State, Urgency, duration};
use meshlock_report::table::{Cell, Column, Table};

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::output::{self, table_width};
use crate::text::several;

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock status                the whole mesh
  meshlock status dock-3         one resource
  meshlock status --local        what this node knows, without asking the others
  meshlock status --json         for a script";

/// Who holds what and who waits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
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

/// Runs the command.
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

/// As text of this width.
pub(crate) fn render(status: &MeshStatus, width: usize) -> String {
    let nodes: Vec<&str> = status.nodes.iter().map(|node| node.name.as_str()).collect();
    let answered = several(nodes.len() as u64, "node");
    let mut text = format!("mesh {}, asked at {}; {answered}: {}\n\n", status.mesh, status.node, nodes.join(", "));
    if status.resources.is_empty() {
        return text + "no resources yet: the first `meshlock lock NAME` makes one\n";
    }
    let resources = Table {
        columns: columns(&[
            ("resource", false),
            ("kind", false),
            ("in use", true),
            ("waiting", true),
            ("token at", false),
        ]),
        rows: status.resources.iter().map(resource).collect(),
    };
    text += &lines(&resources.text(width));
    let rows: Vec<Vec<Cell>> = status.resources.iter().flat_map(requests).collect();
    if rows.is_empty() {
        return text + "\nnobody holds anything, nobody waits\n";
    }
    let heads = [
        ("resource", false),
        ("state", false),
        ("node", false),
        ("owner", false),
        ("urgency", false),
        ("units", true),
        ("session", false),
        ("for", true),
        ("fence", true),
        ("request", false),
    ];
    let requests = Table { columns: columns(&heads), rows };
    text + "\n" + &lines(&requests.text(width))
}

/// With one line end at the end.
fn lines(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

fn columns(heads: &[(&str, bool)]) -> Vec<Column> {
    heads.iter().map(|(name, numeric)| Column { name: (*name).to_owned(), numeric: *numeric }).collect()
}

fn resource(resource: &ResourceStatus) -> Vec<Cell> {
    let text = |text: String| Cell::Text(text);
    vec![
        text(resource.name.clone()),
        text(kind(&resource.definition).to_owned()),
        text(in_use(resource)),
        text(resource.waiters.len().to_string()),
        text(resource.token_at.clone().unwrap_or_else(|| "?".to_owned())),
    ]
}

/// The word for its kind.
pub(crate) fn kind(definition: &Definition) -> &'static str {
    match definition.kind {
        Kind::Mutex => "mutex",
        Kind::Semaphore => "semaphore",
        Kind::Sessions => "sessions",
        Kind::ReadersWriter => "readers-writer",
    }
}

fn in_use(resource: &ResourceStatus) -> String {
    let capacity = resource.definition.capacity;
    if capacity == meshlock_api::resource::MANY {
        return resource.holders.len().to_string();
    }
    format!("{}/{capacity}", resource.in_use)
}

fn requests(resource: &ResourceStatus) -> Vec<Vec<Cell>> {
    resource.holders.iter().chain(&resource.waiters).map(|row| request(&resource.name, row)).collect()
}

fn request(name: &str, row: &Row) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_owned());
    let session = match (&row.session, row.mode) {
        (Some(session), _) => session,
        (None, Some(Mode::Read)) => "read",
        (None, Some(Mode::Write)) => "write",
        (None, None) => "",
    };
    vec![
        text(name),
        text(if row.state == State::Granted { "holds" } else { "waits" }),
        text(&row.node),
        text(row.owner.as_deref().unwrap_or("")),
        text(&urgency(row.urgency)),
        text(&row.units.to_string()),
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
    use super::*;

    #[test]
    fn holders_and_waiters_stand_under_their_resource() {
        let row = |id: &str, state, fence| Row {
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
            rank: None,
        };
        let gpu = ResourceStatus {
            name: "gpu".into(),
            definition: Definition { kind: Kind::Semaphore, capacity: 3, ..Definition::default() },
            token_at: Some("n0".into()),
            in_use: 2,
            holders: vec![row("a", State::Granted, Some(4))],
            waiters: vec![row("b", State::Queued, None)],
        };
        let status = MeshStatus { mesh: "hall".into(), node: "n0".into(), nodes: Vec::new(), resources: vec![gpu] };
        let text = render(&status, 120);
        let line = |start: &str| {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(words).find(|line| line.starts_with(start)).unwrap_or_default()
        };
        assert_eq!(line("gpu semaphore"), "gpu semaphore 2/3 1 n0", "{text}");
        assert_eq!(line("gpu holds"), "gpu holds n0 rsync[7] priority 7 2 1.5s 4 a", "{text}");
        assert_eq!(line("gpu waits"), "gpu waits n0 rsync[7] priority 7 2 1.5s b", "{text}");
    }
}
